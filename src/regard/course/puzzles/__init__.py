"""Twenty-one puzzles: each a kind of attention, to be written in one line from a few operations."""
