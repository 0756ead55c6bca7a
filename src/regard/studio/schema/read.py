"""Read: a language model's attention over a text, and what it predicts."""

from typing import Literal

from pydantic import Field

from regard.studio.schema.parts import Answer, Probability, Sentence, Token
from regard.studio.schema.translate import MapAnswer, NextToken, Side
from regard.tasks.what_if import MAX_OUTPUT


class TextRequest(Sentence):
    """A text, and what follows it as token numbers."""

    output: list[Token] = Field(default_factory=list, max_length=MAX_OUTPUT)


class ReadAnswer(Answer):
    """What a model attends to while it reads, and what it predicts."""

    reads: Literal["causal", "masked", "both", "encoder"]
    """What it predicts: the next word, a word that is hidden, the words of an output, or none."""
    source: Side
    """The text as it is read; of a decoder alone with its output behind it."""
    typed: int
    """How many of its tokens are the text's own."""
    target: Side | None
    """The output of an encoder-decoder."""
    cut: int
    maps: list[MapAnswer]
    candidates: list[list[NextToken]]
    """For each position what comes next; of a model that predicts hidden words, what stands there."""
    chances: list[float | None]
    """For each position the probability of the word that does follow, or stand there."""
    output: str
    finished: bool
    hidden: str | None
    """How a word to be predicted is written in the text."""
    labels: list[Probability]
