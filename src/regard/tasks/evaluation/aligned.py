"""Evaluate an aligner on pairs with gold links, or on pairs alone: then by how much its two directions agree."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from regard import __version__
from regard.config.checks import check_choices
from regard.config.data_files import FileName
from regard.data.formats.pharaoh import Base, Lengths, read_links
from regard.data.text.word_spans import Division, divide
from regard.errors import ArgumentError
from regard.evaluation.alignment_error import alignment_error
from regard.inspection.readings.symmetrize import AGREED
from regard.tasks.alignment.data import spread_pair
from regard.tasks.alignment.job import AlignmentJob
from regard.tasks.alignment.model import WordAligner
from regard.tasks.alignment.settings import AlignTrain
from regard.tasks.alignment.train import aligner_figures
from regard.tasks.evaluation.evaluate import Watch, watch_nothing
from regard.tasks.evaluation.held_out import HeldOut
from regard.tasks.evaluation.sides import SideEvaluation
from regard.training.group import Group


@dataclass(frozen=True, kw_only=True)
class MeasuringLinks:
    """How to measure an aligner on pairs that are named."""

    device: str = "auto"
    """Where the model runs: cpu, cuda, or auto."""
    links: FileName = ""
    """A file of gold links, one line a pair; those of a built-in corpus are known."""
    words: Literal["whitespace", "marks"] = "whitespace"
    """What the links of the file count."""
    base: Base | None = None
    """What they count from: 0 or 1."""
    threshold: float = AGREED
    """How large the weights of both directions must be for a link."""

    def __post_init__(self) -> None:
        check_choices(self)
        if not 0 < self.threshold <= 1:
            raise ArgumentError(f"`threshold` must be above 0, at most 1; received {self.threshold:g}.")


def evaluate_aligner(
    aligner: WordAligner,
    held_out: HeldOut,
    settings: MeasuringLinks,
    *,
    name: str = "model",
    watch: Watch = watch_nothing,
) -> SideEvaluation:
    """Measure cross-entropy and agreement on pairs, and the alignment error where their links are known."""
    held_out, division = _with_gold(held_out, settings)
    pairs, total = held_out.pairs, len(held_out.pairs)
    job = AlignmentJob([], [], aligner.tokenizers, AlignTrain(), group=Group(device=aligner.device))
    scores = job.score(aligner.model, [replace(spread_pair(pair), links=()) for pair in pairs])
    if any(pair.links for pair in pairs):
        aligned = aligner.align(
            pairs, threshold=settings.threshold, words=division, watch=lambda done: watch("aligning", done, total)
        )
        gold = [pair.links for pair in pairs]
        scores = scores._replace(links=alignment_error([item.links for item in aligned], gold))
    return SideEvaluation(
        name=name,
        task="align",
        side="test",
        data=held_out.name,
        items=total,
        figures=aligner_figures("test", scores),
        signature=f"task:align|model:{aligner.spec.kind}|test:{held_out.name}|version:{__version__}",
    )


def _with_gold(held_out: HeldOut, settings: MeasuringLinks) -> tuple[HeldOut, Division]:
    """Put the links of a file to the pairs; those that a corpus has itself count marks."""
    if not settings.links:
        return held_out, "marks"
    division = settings.words
    total = held_out.report.total if held_out.report else len(held_out.pairs)
    numbers = held_out.lines or tuple(range(total))
    lengths = [Lengths(0, 0)] * total  # a line that was left out has no links
    for number, pair in zip(numbers, held_out.pairs, strict=True):
        lengths[number] = Lengths(len(divide(pair.source, division)), len(divide(pair.target, division)))
    every = read_links(Path(settings.links), base=settings.base, lengths=lengths)
    links = [every[number] for number in numbers]
    pairs = [replace(pair, links=own) for pair, own in zip(held_out.pairs, links, strict=True)]
    return replace(held_out, pairs=pairs), division
