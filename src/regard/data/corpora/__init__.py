"""Corpora: pairs and streams of text, cleaned and split so that nothing leaks."""
