"""Translation: pairs of sentences in, a translator out."""
