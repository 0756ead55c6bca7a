"""Networks that read images, and what is built on them."""
