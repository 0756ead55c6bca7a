"""Image classification: labeled images in, a classifier out."""
