"""Alignment error rate, precision and recall of word links against gold ones."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from regard.data.corpora.pair import Link
from regard.errors import ArgumentError


class AlignmentScores(NamedTuple):
    """Shares from 0 to 1, over all pairs together."""

    error: float
    """The alignment error rate: 0 is perfect."""
    precision: float
    """Which share of the links is at least possible."""
    recall: float
    """Which share of the sure gold links was found."""
    num_links: int
    """How many links were judged."""

    @classmethod
    def of_counts(cls, *, predicted: int, sure: int, in_sure: int, in_possible: int) -> "AlignmentScores":
        """Compute the shares from |A|, |S|, |A ∩ S| and |A ∩ P|; see `alignment_error`."""
        return cls(
            error=1 - _share(in_sure + in_possible, predicted + sure),
            precision=_share(in_possible, predicted),
            recall=_share(in_sure, sure),
            num_links=predicted,
        )

    def __str__(self) -> str:
        """Write percentages.

        >>> print(AlignmentScores(error=0.105, precision=0.908, recall=0.878, num_links=5379))
        AER 10.5 %  precision 90.8 %  recall 87.8 %  5,379 links
        """
        return (
            f"AER {self.error:.1%}  precision {self.precision:.1%}  recall {self.recall:.1%}  {self.num_links:,} links"
        ).replace("%", " %")


def alignment_error(hypotheses: Sequence[Collection[Link]], gold: Sequence[Collection[Link]]) -> AlignmentScores:
    r"""Compare links with gold ones, of which some are sure and the others possible.

    $$\text{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}, \qquad
    \text{precision} = \frac{|A \cap P|}{|A|}, \qquad \text{recall} = \frac{|A \cap S|}{|S|}$$

    where $A$ are the hypotheses' links, sure or not, $S$ the sure gold links and $P$ all gold links; the counts are
    those of the whole corpus. Where there is nothing to find, or nothing was predicted, the share is 1.

    Reference: Och and Ney (2003), "A systematic comparison of various statistical alignment models".

    >>> gold = [[Link(0, 0, sure=True), Link(1, 1, sure=False)]]
    >>> alignment_error([[Link(0, 0, sure=True), Link(1, 1, sure=True)]], gold).error
    0.0
    """
    if len(hypotheses) != len(gold):
        raise ArgumentError(
            f"`hypotheses` must have one entry for each of the {len(gold):,} pairs of gold links; received "
            f"{len(hypotheses):,}."
        )
    if not any(gold):
        raise ArgumentError("`gold` must hold at least one link; received none.")
    num_predicted = in_sure = in_possible = num_sure = 0
    for links, right in zip(hypotheses, gold, strict=True):
        predicted = {(link.source, link.target) for link in links}
        possible = {(link.source, link.target) for link in right}
        sure = {(link.source, link.target) for link in right if link.sure}
        num_predicted, num_sure = num_predicted + len(predicted), num_sure + len(sure)
        in_sure, in_possible = in_sure + len(predicted & sure), in_possible + len(predicted & possible)
    return AlignmentScores.of_counts(predicted=num_predicted, sure=num_sure, in_sure=in_sure, in_possible=in_possible)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
