"""Numbers read from attention, each with its caveat."""
