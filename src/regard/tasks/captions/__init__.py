"""Captions: pictures with captions in, a model that describes out."""
