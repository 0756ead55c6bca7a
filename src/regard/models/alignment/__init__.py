"""Aligners: networks that predict each word of a sentence from its translation and from the other words."""
