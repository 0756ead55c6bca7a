"""Tags and placeholders that survive translation: taken out of a text, and put back by what the model attended to."""
