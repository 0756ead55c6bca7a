"""Models of `transformers`, inspected like our own."""
