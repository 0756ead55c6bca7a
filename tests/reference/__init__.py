"""Loops from the papers, and the cases they are compared on; a package, since docs/building has a `reference` too."""
