"""Ways to attend, with their parameters: Bahdanau, Luong, bilinear, Gaussian, multi-head, structured, pooling."""
