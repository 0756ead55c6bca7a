"""Attention over channels and positions of images, and patches."""
