"""What a question asks for, where nobody says."""

_COLOR, _SHAPE = ("color", "colour"), ("shape",)
_POSITION = ("where", "corner", "side", "position")


def guess_kind(question: str, answer: str) -> str:
    """Guess the kind of a question from its answer and its words.

    >>> guess_kind("is there a cat?", "Yes"), guess_kind("how many cats?", "2"), guess_kind("who is it?", "Ana")
    ('yes/no', 'count', 'other')
    """
    words = question.lower()
    if answer.strip().lower() in ("yes", "no"):
        return "yes/no"
    if answer.strip().isdigit():
        return "count"
    for kind, marks in (("color", _COLOR), ("position", _POSITION), ("shape", _SHAPE)):
        if any(mark in words for mark in marks):
            return kind
    return "other"
