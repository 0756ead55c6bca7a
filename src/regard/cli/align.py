"""`regard align`: sentence pairs in, links between their words out."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from regard.cli.engine_run import EngineOutput, EngineOverwrite, Engines, find_engine, run_lines
from regard.cli.flags import AsTyped
from regard.cli.pair_files import read_base, read_division, read_gold, read_two_files
from regard.cli.watching import Watching
from regard.errors import ArgumentError, near_miss
from regard.files import json_text

if TYPE_CHECKING:
    from regard.data.corpora.pair import Pair
    from regard.data.text.word_spans import Division
    from regard.inspection.readings.alignment import Reading
    from regard.scale.work import Work
    from regard.tasks.alignment.align import Alignment

COUNTING, DIAGONAL = "ibm-1", "diagonal"
AGREE_ON = 500
"""Pairs on which the agreement of two directions is measured, at most."""
AT_ONCE = 200
"""Pairs that are aligned together, before they are printed."""


def align(
    model: Annotated[str, typer.Argument(help="A run folder or a model folder; or ibm-1, or diagonal.")],
    source: Annotated[Path, typer.Option(help="A plain file of source sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="The plain file of their translations.")],
    reverse: Annotated[str, typer.Option(help="A model of the other direction, or ibm-1, to join with.")] = "",
    join: Annotated[
        str, typer.Option(metavar="HOW", help="intersection, union, grow-diag or grow-diag-final.")
    ] = "grow-diag",
    develop: Annotated[
        tuple[Path, Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET LINKS", help="Pairs with gold links, to choose layer, head and step by."),
    ] = None,
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="More pairs for ibm-1 to learn from, beside those it aligns."),
    ] = None,
    words: Annotated[
        str, typer.Option(metavar="whitespace|marks", help="What links count: runs between spaces, or marks apart too.")
    ] = "whitespace",
    base: Annotated[
        int | None, typer.Option(help="What the gold LINKS of --develop count from: 0 or 1. Output counts from 0.")
    ] = None,
    as_typed: AsTyped = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="step, layer, head, norms or threshold; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print words, links and weights, one object a line.")] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw the weights of each pair as shaded blocks.")] = False,
    output: EngineOutput = None,
    overwrite: EngineOverwrite = False,
    engine: Engines = "torch",
) -> None:
    """Link the words of sentence pairs, by what a translator attends to when it is forced to output the translation.

    Links are printed one line a pair, source before target, counted from 0: `0-0 1-2`.

    Example: `regard align runs/a --source test.es --target test.en`

    Joined with a model of the other direction: `regard align runs/a --reverse runs/b --source … --target …`

    The reading chosen by gold links: `regard align runs/a --develop dev.es dev.en dev.links --source … --target …`

    By hand: `--set step=read --set layer=2 --set head=0 --set norms=true --set threshold=0.2`

    A baseline that counts words, learned from the same two files: `regard align ibm-1 --source … --target …`

    Learned from more pairs: `regard align ibm-1 --train train.es train.en --source test.es --target test.en`

    Large files, over all processors: `regard align runs/a --source … --target … --output links --engine ray`
    """
    refused = {"--json": as_json, "--draw": draw, "--develop": develop, "--train": train}
    if cluster := find_engine(engine, output=output, files=[source, target], refused=refused):
        check_join(join)
        work = _over(model, reverse, source, target, join=join, words=words, respell=not as_typed, device=device)
        run_lines(work(assignments or []), output or Path(), cluster, overwrite=overwrite)
        return
    if output is not None or overwrite:
        raise ArgumentError("`--output` and `--overwrite` must go with --engine ray; links go to standard output.")
    division, pairs = read_division(words), read_two_files(source, target)
    check_join(join)
    if as_json and draw:
        raise ArgumentError("Either `--json` or `--draw` must be given; received both.")
    _check_choosing(model, reverse, develop, assignments)
    if train is not None and COUNTING not in (model, reverse):
        raise ArgumentError(f"`--train` must come with {COUNTING}, which counts; received {model}. Leave it out.")
    more = [] if train is None else read_two_files(*train)
    # Beside a bar on the terminal, rich would send what is printed to a file to the terminal too.
    shown = None if sys.stdout.isatty() else sys.stdout
    with Watching() as watching:
        session = _Session(model, reverse, division, watching, partial(_load, device=device, respell=not as_typed))
        session.train_on = more
        if develop is not None:
            known = read_two_files(develop[0], develop[1])
            session.choose_by_gold(read_gold(known, develop[2], base=read_base(base), words=division))
        elif assignments:
            session.set(assignments)
        elif reverse:
            session.choose_by_agreement(pairs[:AGREE_ON])
        try:
            for alignment in session.align(pairs, join):
                print(_shown(alignment, as_json=as_json, draw=draw), file=shown, flush=True)
        finally:
            session.warn()


def _over(
    model: str, reverse: str, source: Path, target: Path, *, join: Any, words: str, respell: bool, device: str
) -> "Callable[[list[str]], Work]":
    """Give the function that makes work of the settings of a reading: the same for both directions."""
    from regard.config.read import parse_assignments, read_settings
    from regard.inspection.readings.alignment import Reading
    from regard.scale.text_work import AlignLines, Models

    names = [name for name in (model, reverse) if name]
    if counted := [name for name in names if name in (COUNTING, DIAGONAL)]:
        raise ArgumentError(f"`--engine ray` must have models that attend; received {counted[0]}. Leave out one.")
    return lambda assignments: AlignLines(
        models=Models.find([Path(name) for name in names], device=device),
        source=source.absolute(),
        target=target.absolute(),
        readings=(read_settings(Reading, parse_assignments(assignments)),) * len(names),
        words=read_division(words),
        join=join,
        respell=respell,
    )


class _Session:
    """The models of a command and the readings chosen for them."""

    def __init__(
        self, model: str, reverse: str, words: "Division", watching: Watching, load: Callable[[str], Any]
    ) -> None:
        from regard.tasks.alignment.align import PLAIN
        from regard.tasks.translation.lines import Tally

        self.names = [model, reverse] if reverse else [model]
        self.words, self.watching = words, watching
        self.translators = [load(name) for name in self.names]
        self.readings: list[Reading] = [PLAIN] * len(self.names)
        self.tally, self.done = Tally(), 0
        self.train_on: Sequence[Pair] = ()
        """Pairs that IBM Model 1 learns from, beside those it aligns."""

    def set(self, assignments: Sequence[str]) -> None:
        from regard.config.read import parse_assignments, read_settings
        from regard.inspection.readings.alignment import Reading

        self.readings = [read_settings(Reading, parse_assignments(assignments))] * len(self.names)

    def choose_by_gold(self, pairs: "Sequence[Pair]") -> None:
        from regard.tasks.alignment.align import turned_pairs
        from regard.tasks.alignment.reading_choice import choose_by_gold

        for number, translator in enumerate(self.translators):
            if translator is not None:
                known = turned_pairs(pairs) if number else pairs
                watch = self._watch("choosing", len(known))
                choice = choose_by_gold(translator, known, words=self.words, watch=watch)
                self.readings[number] = choice.reading
                self.watching.say(f"{self.names[number]}: {choice.reading}, by gold links: {choice.scores}")

    def choose_by_agreement(self, pairs: "Sequence[Pair]") -> None:
        from regard.tasks.alignment.reading_choice import choose_by_agreement

        forward, backward = self.translators
        if forward is None or backward is None or not pairs:
            return
        choices = choose_by_agreement(forward, backward, pairs, words=self.words)
        for number, choice in enumerate(choices):
            self.readings[number] = choice.reading
            agreement = f"{1 - choice.scores.error:.1%}".replace("%", " %")
            self.watching.say(f"{self.names[number]}: {choice.reading}, by agreement: {agreement}")

    def align(self, pairs: "Sequence[Pair]", join: Any) -> "Iterator[Alignment]":
        """Give the alignments in order, some pairs at a time, so that memory does not grow with the files."""
        from regard.tasks.alignment.align import join_directions, shorten, turned_pairs

        aligners = [self._aligner(number, pairs) for number in range(len(self.names))]
        for start in range(0, len(pairs), AT_ONCE):
            some, cut = shorten(pairs[start : start + AT_ONCE], *self.translators, words=self.words)
            for number in cut:
                self.tally.add_cut(start + number + 1)
            result = aligners[0](some)
            if len(aligners) == 2:
                result = join_directions(result, aligners[1](turned_pairs(some)), join)
            for number, alignment in enumerate(result, start=self.done + 1):
                if alignment.read_as:
                    self.tally.add_respelled(number, alignment.read_as)
            yield from result
            self.done += len(some)

    def warn(self) -> None:
        """Say which lines were not read to their end, and which words not as typed."""
        reach = min((item.reach.source for item in self.translators if item is not None), default=0)
        for warning in self.tally.warnings(reach):
            self.watching.say(f"regard: {warning}")

    def _aligner(self, number: int, pairs: "Sequence[Pair]") -> "Callable[[Sequence[Pair]], list[Alignment]]":
        from regard.tasks.alignment.align import align, align_counted, align_diagonally, count_words, turned_pairs

        translator = self.translators[number]
        if translator is not None:
            watch = None if number else lambda done: self.watching("aligning", self.done + done, len(pairs))
            return partial(align, translator, reading=self.readings[number], words=self.words, watch=watch)
        if self.names[number] == COUNTING:
            known = [*self.train_on, *pairs]
            counted = count_words(turned_pairs(known) if number else known, words=self.words)
            return partial(align_counted, counted, words=self.words)
        return partial(align_diagonally, words=self.words)

    def _watch(self, what: str, total: int) -> Any:
        return lambda done: self.watching(what, done, total)


def _load(name: str, *, device: str, respell: bool) -> Any:
    if name in (COUNTING, DIAGONAL):
        return None
    from regard.tasks.translation.model import load

    return load(name, device=device, respell=respell)


def check_join(join: str) -> None:
    """Refuse an unknown way to join."""
    from regard.inspection.readings.symmetrize import Join

    known = get_args(Join)
    if join not in known:
        raise ArgumentError(f"`--join` must be one of {', '.join(known)}; received {join}.{near_miss(join, known)}")


def _check_choosing(model: str, reverse: str, develop: object, assignments: object) -> None:
    if develop is not None and assignments:
        raise ArgumentError("Either `--develop` or `--set` must choose the reading; received both.")
    learned = [name for name in (model, reverse) if name and name not in (COUNTING, DIAGONAL)]
    if not learned and (develop is not None or assignments):
        raise ArgumentError(
            f"`--develop` and `--set` must come with a model that attends; received {model}, where there is nothing to "
            "choose."
        )


def _shown(alignment: "Alignment", *, as_json: bool, draw: bool) -> str:
    from regard.data.formats.pharaoh import format_links

    links = format_links(alignment.links)
    if as_json:
        return json_text(_described(alignment, links))
    if not draw:
        return links
    from regard.inspection.drawing.text_matrix import draw_weights

    weights = alignment.weights[:, :-1]
    if alignment.reverse_weights is not None:
        weights = (weights + alignment.reverse_weights[:, :-1].T) / 2
    lines = draw_weights(weights, alignment.source, alignment.target, width=shutil.get_terminal_size().columns)
    return "\n".join([*lines, links, ""])


def _described(alignment: "Alignment", links: str) -> dict[str, Any]:
    described = {
        "source": alignment.source,
        "target": alignment.target,
        "read_as": dict(alignment.read_as),
        "links": links,
        "weights": _rounded(alignment.weights[:, :-1]),
        "nothing": _rounded(alignment.weights[:, -1]),
    }
    if alignment.reverse_weights is not None:
        described["reverse_weights"] = _rounded(alignment.reverse_weights[:, :-1])
        described["reverse_nothing"] = _rounded(alignment.reverse_weights[:, -1])
    return described


def _rounded(weights: Any) -> Any:
    """Give numbers in four digits: a list, or a list of lists."""
    numbers = weights.tolist()
    return [[round(item, 4) for item in row] if isinstance(row, list) else round(row, 4) for row in numbers]
