"""What is wrong with a run: numbers of its training, vocabulary, data and output, each with its limit and a remedy."""
