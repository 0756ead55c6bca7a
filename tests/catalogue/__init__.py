"""Every public mechanism with an example input: adding one to regard is adding a row here."""
