"""Classify: a label, the words that were weighed, and what pronouns attend to."""

from regard.studio.schema.parts import Answer, MapName, Probability
from regard.studio.tensors import Packed


class Shares(Answer):
    """How much each word counts, in three ways; each sums to one."""

    model: list[float]
    gradient: list[float]
    removal: list[float] | None
    signed: list[float] | None
    """Gradient × input with its sign, above zero for the label; the sizes sum to one over tokens."""


class OtherShares(Answer):
    """The same text by another open classifier of the kind."""

    name: str
    label: str
    shares: list[float]


class DecisionAnswer(Answer):
    """The label of a text."""

    label: str
    labels: int
    probabilities: list[Probability]
    words: list[str]
    unknown: list[int]
    """Words that the model does not know: it reads one and the same token instead of each."""
    cut: int
    kind: str
    meaning: str
    weighs: bool
    shares: Shares
    skipped: str
    uniform: float | None
    """The label's probability if all weights were uniform."""
    others: list[OtherShares]


class TextMap(Answer):
    """The weights of a layer over a text."""

    layer: str
    map: MapName
    queries: list[str]
    keys: list[str]
    weights: Packed
    """(heads, queries, keys)."""


class MapsAnswer(Answer):
    """All maps of a text, or why there are none."""

    maps: list[TextMap]
    skipped: str


class AttendedWord(Answer):
    """A word that a pronoun attends to."""

    word: str
    position: int
    weight: float


class HeadWord(AttendedWord):
    """What one head alone attends to most."""

    head: str


class ReadingWord(AttendedWord):
    """A word that a reader may take a pronoun for."""

    rank: int
    head: str
    head_weight: float


class Pronoun(Answer):
    """What a pronoun attends to."""

    word: str
    position: int
    number: int
    """Counted from one, without `</s>`."""
    visible: int
    uniform: float
    top: list[AttendedWord]
    heads: list[HeadWord]
    readings: list[ReadingWord]


class PassageAnswer(Answer):
    """What the pronouns of a text attend to, or why there is nothing to give."""

    attention: list[Pronoun]
    heads: int
    why: str
    unknown: list[str]
