"""Batches of examples, by tokens and by length."""
