"""Clauses: subject, negation, clitics, verb group and complements, as statement, question or relative clause."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from regard.data.builtin.english import subject_pronoun
from regard.data.builtin.es_en.group import Group
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.synchrony import Phrase, Unit, Words

QuestionOrder: TypeAlias = Literal["second", "third", "last"]
"""Where a Spanish question has its subject: puede Ana leerlo, qué quiere leer Ana, está cansada Ana."""


class Piece(NamedTuple):
    """A complement: what Spanish puts before the verb (clitics) and after it, and what English puts after it."""

    clitic: Words
    source: Words
    target: Words


def piece(phrase: Phrase) -> Piece:
    """Put a phrase after the verb in both languages."""
    return Piece((), phrase.source, phrase.target)


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """A clause before its word order is settled. `adverb` stands before the verb: siempre, always."""

    subject: Nominal
    group: Group
    pieces: tuple[Piece, ...] = ()
    negative: bool = False
    adverb: Phrase | None = None

    def statement(self) -> Phrase:
        """Say it; a subject without words is dropped in Spanish and a pronoun in English."""
        source, target = self._predicate()
        return Phrase(self.subject.phrase.source + source, self._target_subject() + target)

    def predicate(self) -> Phrase:
        """Say it without a subject in either language: after y, or after a relative pronoun."""
        return Phrase(*self._predicate())

    def question(self, order: QuestionOrder = "second") -> Phrase:
        """Ask it, with the subject after the auxiliary in English and somewhere after the verb in Spanish."""
        group, subject = self.group, self.subject.phrase.source
        match order:
            case "second":
                source = group.verb + subject + group.rest + self._source_pieces()
            case "third":
                source = group.verb + group.rest + subject + self._source_pieces()
            case "last":
                source = group.verb + group.rest + self._source_pieces() + subject
        target = group.auxiliary + self._target_subject() + group.bare + group.tail + self._target_pieces()
        return Phrase(self._clitics() + source, target)

    def inverted(self) -> Phrase:
        """Say it with the Spanish subject after the verb, as in que compró Ana, that Ana bought."""
        before = self._clitics() + self.group.verb + self.group.rest
        target = self._target_subject() + self._target_verb() + self._target_pieces()
        return Phrase(before + self.subject.phrase.source + self._source_pieces(), target)

    def _predicate(self) -> tuple[Words, Words]:
        group, negation = self.group, Unit()
        source = self._clitics() + group.verb + group.rest + self._source_pieces()
        if self.negative:
            source = negation("no") + source
            verb = group.auxiliary + negation("not") + group.bare + group.tail
        elif self.adverb is not None:
            source = self.adverb.source + source
            verb = self._target_verb(self.adverb.target)
        else:
            verb = self._target_verb()
        return source, verb + self._target_pieces()

    def _target_verb(self, adverb: Words = ()) -> Words:
        group = self.group
        return (adverb + group.finite if group.lexical else group.finite + adverb) + group.tail

    def _target_subject(self) -> Words:
        if not self.subject.dropped:
            return self.subject.phrase.target
        return self.group.unit.loosely(subject_pronoun(self.subject.slot, self.subject.english_gender))

    def _clitics(self) -> Words:
        return sum((item.clitic for item in self.pieces), ())

    def _source_pieces(self) -> Words:
        return sum((item.source for item in self.pieces), ())

    def _target_pieces(self) -> Words:
        return sum((item.target for item in self.pieces), ())
