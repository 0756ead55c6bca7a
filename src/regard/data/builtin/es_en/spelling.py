"""What neighboring Spanish words do to one another."""

from regard.data.builtin.synchrony import Words

_CONTRACTED = {("a", "el"): "al", ("de", "el"): "del"}


def smooth(spoken: Words) -> Words:
    """Let neighbors meet: a el becomes al, de el becomes del, and y becomes e before the sound of i."""
    smoothed = list(spoken)
    for position in range(len(smoothed) - 2, -1, -1):
        word, following = smoothed[position], smoothed[position + 1]
        contracted = _CONTRACTED.get((word.text, following.text))
        if contracted is not None:
            smoothed[position : position + 2] = [word.merge(following, contracted)]
        elif word.text == "y" and following.text.lower().startswith(("i", "hi")):
            smoothed[position] = word._replace(text="e")
    return tuple(smoothed)
