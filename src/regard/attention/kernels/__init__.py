"""Ways to compute one call: the reference, which is the specification, and faster ones that must agree with it."""
