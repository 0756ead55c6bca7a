"""The studio's views, one file each, named as its address."""
