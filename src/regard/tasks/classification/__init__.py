"""Text classification: labeled texts in, a classifier out."""
