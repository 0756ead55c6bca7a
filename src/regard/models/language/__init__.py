"""Language models: what word comes next, from counting to attention."""
