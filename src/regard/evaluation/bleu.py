"""BLEU and chrF over plain text, by sacrebleu, the reference implementation, with its signatures."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import ArgumentError


class Scores(NamedTuple):
    """Figures of a set of translations, from 0 to 100, and how they were computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Scores:
    """Compare translations with one reference each.

    Reference: Papineni et al. (2002), BLEU; Popović (2015), chrF; Post (2018), arXiv:1804.08771.

    >>> figures = score(["I am from Canada."], ["I am from Canada."])
    >>> round(figures.bleu), round(figures.chrf), figures.bleu_signature
    (100, 100, 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...')
    """
    check_sides(hypotheses, references)
    bleu, chrf = BLEU(lowercase=lowercase), CHRF(lowercase=lowercase)
    result = (
        bleu.corpus_score(list(hypotheses), [list(references)]),
        chrf.corpus_score(list(hypotheses), [list(references)]),
    )
    return Scores(result[0].score, result[1].score, str(bleu.get_signature()), str(chrf.get_signature()))


def check_sides(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse what cannot be compared."""
    if len(hypotheses) != len(references) or not references:
        raise ArgumentError(
            f"`hypotheses` must have one entry for each reference, at least one; received {len(hypotheses)} for "
            f"{len(references)}."
        )
