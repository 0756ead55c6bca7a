"""Models from sequence to sequence: recurrent with and without attention, and the Transformer."""
