"""The four tokens that every vocabulary starts with, with the same numbers."""

PAD, UNKNOWN, START, END = 0, 1, 2, 3
"""Fills a batch; stands for a word outside the vocabulary; opens a target; closes a source or target."""

SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")
