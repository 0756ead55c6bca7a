"""Positions of tokens: sinusoidal, learned, rotary, relative, ALiBi and structural."""
