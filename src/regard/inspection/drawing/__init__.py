"""Pictures and pages of attention."""
