"""Evaluation of trained models, and comparison of two."""
