"""Text and tokens: tokenizers, words, spelling."""
