"""What one sentence has fixed so far: when it happens, how detailed it is, and what it has mentioned."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from regard.data.builtin.draw import Draw
from regard.data.builtin.es_en.nouns import Noun

Tense: TypeAlias = Literal["present", "now", "past", "future"]
"""present: she reads; now: she is reading; past: she read; future: she is going to read."""


class Scene:
    """The state of one derivation, made anew for each sentence.

    `rich` from 0 to 1 says how readily a phrase takes adjectives, places and relative clauses. `alone` says that the
    sentence has one clause, which may then refer to what only the listener knows (lo compró). `needs_time` is raised by
    a verb whose form does not tell present from past (compramos): such a sentence must name a time.
    """

    def __init__(self, draw: Draw, *, tense: Tense, rich: float, alone: bool = False) -> None:
        self.draw = draw
        self.tense: Tense = tense
        self.rich = rich
        self.alone = alone
        self.mentioned: set[str] = set()
        self.needs_time = False
        self.has_time = False

    def maybe(self, probability: float) -> bool:
        """Say yes with this probability at full richness."""
        return self.draw.chance(probability * self.rich)

    def mention(self, options: Sequence[Noun]) -> Noun:
        """Choose a noun, if possible one that the sentence has not mentioned."""
        for _ in range(8):
            noun = self.draw.pick(options)
            if noun.english_singular not in self.mentioned:
                break
        self.mentioned.add(noun.english_singular)
        return noun

    def mention_name(self, options: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        """Choose a proper name, if possible one that the sentence has not mentioned."""
        for _ in range(6):
            name = self.draw.pick(options)
            if name[0] not in self.mentioned:
                break
        self.mentioned.add(name[0])
        return name
