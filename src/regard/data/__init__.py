"""Corpora, tokenizers and batches: everything that stands before a model, and knows none."""
