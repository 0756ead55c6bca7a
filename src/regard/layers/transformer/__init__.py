"""Blocks of the Transformer and their parts."""
