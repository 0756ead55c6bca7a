"""Word alignment: links between the words of sentence pairs."""
