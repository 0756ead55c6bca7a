"""What recipes/translator.py is made of: files, names, numbers, phrases, copies; training, assembling, checking."""
