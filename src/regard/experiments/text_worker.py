"""One model of an experiment on a text: trained, or gone on with, and measured; in a process of its own by `main`.

A request is a JSON object that `text_models` writes. What was measured is kept beside the request's digest, so that the
same request is answered from it.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.corpora.pair import Pair
from regard.data.corpora.pair import words as divide_words
from regard.data.formats.pharaoh import parse_links
from regard.data.text.word_spans import Division
from regard.decoding.search import Search
from regard.errors import RegardError
from regard.evaluation.alignment_error import alignment_error
from regard.evaluation.by_length import make_bins
from regard.evaluation.measure import Measure, measure
from regard.evaluation.scoring import suited_scoring
from regard.files import read_json, write_text
from regard.tasks.alignment.align import align
from regard.tasks.evaluation.evaluate import surprise
from regard.tasks.evaluation.held_out import HeldOut
from regard.tasks.progress import Progress
from regard.tasks.training import train
from regard.tasks.translation.model import Translator, load
from regard.tasks.translation.result import as_line
from regard.training.run_folder import RunFolder, read_written

EDGES = (10, 20, 30, 40, 50, 60)
"""Source lengths at which a bin begins, in words."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a model gave."""

    bleu: float
    """As it is output, `<unk>` and all."""
    replaced: float
    """BLEU with each `<unk>` replaced by the source word attended to."""
    perplexity: float
    """Of a reference token."""
    by_length: dict[str, float] = field(default_factory=dict)
    """BLEU by source length; bins without sentences are left out."""
    sentences: dict[str, int] = field(default_factory=dict)
    """How many there are in each bin."""
    error: float | None = None
    """Alignment error rate; None without attention or without gold links."""
    parameters: int = 0
    steps: int = 0
    seconds: float = 0.0
    signature: str = ""
    """Of BLEU."""


def work(request: Mapping[str, Any], *, watch: Callable[[float], None] | None = None) -> None:
    """Train and measure what a request asks for, and write the figures; nothing is done twice."""
    if is_answered(request):
        return
    out = Path(str(request["out"]))

    def tell(progress: Progress) -> None:
        if watch is not None:
            watch(progress.share)

    train("translate", out=out, preset=str(request["preset"]), settings=request["settings"], on_progress=tell)
    figures = measure_model(
        load(out, device=str(request["device"])),
        _read_pairs(request["test"]),
        _read_pairs(request["gold"]) if request["gold"] else [],
        words=request["words"],
        edges=request["edges"],
        beam=int(request["beam"]),
        spent=read_written(RunFolder(out).figures, advice="Remove it, and the same command measures again."),
    )
    text = json.dumps({"request": _digest(request), "figures": asdict(figures)}, indent=1)
    write_text(Path(str(request["measured"])), text)


def is_answered(request: Mapping[str, Any]) -> bool:
    """Return whether the figures of a request are there, of the same settings and pairs."""
    measured = Path(str(request["measured"]))
    return measured.is_file() and json.loads(measured.read_text(encoding="utf-8")).get("request") == _digest(request)


def measure_model(
    translator: Translator,
    pairs: Sequence[Pair],
    gold: Sequence[Pair],
    *,
    words: Division = "whitespace",
    edges: Sequence[int] = EDGES,
    beam: int = 5,
    spent: Mapping[str, Any] | None = None,
) -> Measured:
    """Translate the test pairs once, and score the outputs before and after unknown words are replaced.

    `words` are those that the links of `gold` count.
    """
    outputs = [best[0] for best in translator.search([pair.source for pair in pairs], Search(beam=beam))]
    target, references = translator.tokenizers.target, [pair.target for pair in pairs]
    plain = [as_line(target.decode(item.hypothesis.tokens)) for item in outputs]
    scoring = suited_scoring(references, lower=target.lowercases)
    before, after = (
        measure(texts, references, names=("BLEU",), scoring=scoring)["BLEU"]
        for texts in (plain, [item.text for item in outputs])
    )
    by_length, sentences = _by_length(before, pairs, edges)
    attends = bool(gold) and translator.force([gold[0].source], [gold[0].target], weights=True)[0].weights is not None
    error = None
    if attends:
        links = [item.links for item in align(translator, gold, words=words)]
        error = alignment_error(links, [pair.links for pair in gold]).error
    figures = spent or {}
    return Measured(
        bleu=before.score(),
        replaced=after.score(),
        perplexity=surprise(translator, HeldOut(pairs=list(pairs), name="test")).per_token,
        by_length=by_length,
        sentences=sentences,
        error=error,
        parameters=translator.num_parameters,
        steps=int(figures.get("steps", 0)),
        seconds=float(figures.get("seconds", 0.0)),
        signature=before.signature,
    )


def _by_length(bleu: Measure, pairs: Sequence[Pair], edges: Sequence[int]) -> tuple[dict[str, float], dict[str, int]]:
    lengths = np.array([len(divide_words(pair.source)) for pair in pairs])
    scores, counts = dict[str, float](), dict[str, int]()
    for item in make_bins(edges):
        inside = np.flatnonzero((lengths >= item.low) & (lengths <= (np.inf if item.high is None else item.high)))
        if len(inside):
            scores[str(item)], counts[str(item)] = bleu.score(inside), len(inside)
    return scores, counts


def _read_pairs(path: str) -> list[Pair]:
    rows = json.loads(Path(path).read_text(encoding="utf-8"))
    return [Pair(source=row[0], target=row[1], links=parse_links(row[2], place=path)) for row in rows]


def _digest(request: Mapping[str, Any]) -> str:
    """Give a checksum of all that decides the figures, the pairs to measure on included."""
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode())
    for name in ("test", "gold"):
        if request[name]:
            digest.update(Path(str(request[name])).read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Do what the request says that the command line names."""
    try:
        work(read_json(Path(sys.argv[1])).table())
    except RegardError as error:
        sys.exit(f"regard: {error}")
