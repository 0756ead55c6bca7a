"""BLEU and chrF of a set of translations, by sacrebleu, the reference implementation, with its signatures."""

from collections.abc import Sequence
from typing import NamedTuple

from regard.evaluation.measure import measure
from regard.evaluation.scoring import PLAIN, Scoring


class Scores(NamedTuple):
    """Figures of a set of translations, from 0 to 100, and how they were computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score(hypotheses: Sequence[str], references: Sequence[str], scoring: Scoring = PLAIN) -> Scores:
    """Compare translations with one reference each.

    Reference: Papineni et al. (2002), BLEU; Popović (2015), chrF; Post (2018), arXiv:1804.08771.

    >>> figures = score(["I am from Canada."], ["I am from Canada."])
    >>> round(figures.bleu), round(figures.chrf), figures.bleu_signature
    (100, 100, 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...')
    >>> score(["a"], ["a"], Scoring(lowercase=True, tokenize="none")).bleu_signature
    'nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:...'
    """
    bleu, chrf = measure(hypotheses, references, names=("BLEU", "chrF"), scoring=scoring).values()
    return Scores(bleu.score(), chrf.score(), bleu.signature, chrf.signature)


def bleu_signature(scoring: Scoring) -> str:
    """Give the signature of BLEU so computed, against one reference each."""
    return score(["a"], ["a"], scoring).bleu_signature
