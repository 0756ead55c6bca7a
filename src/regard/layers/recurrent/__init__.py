"""Recurrent encoders and cells, and what is read from a decoder's state."""
