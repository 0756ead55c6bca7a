"""What `regard evaluate`, `compare` and `align` do, as calls: `regard.evaluate`, `regard.compare`, `regard.align`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from regard.config.read import read_settings
from regard.data.corpora.pair import Pair
from regard.data.text.word_spans import Division
from regard.errors import ArgumentError, ArgumentTypeError, near_miss, with_article
from regard.inspection.readings.alignment import Reading
from regard.inspection.readings.symmetrize import Join
from regard.tasks.alignment.align import (
    PLAIN,
    align_by_counting,
    align_diagonally,
    join_directions,
    shorten,
    turned_pairs,
)
from regard.tasks.alignment.align import align as align_pairs
from regard.tasks.alignment.reading_choice import choose_by_agreement
from regard.tasks.alignment.result import Alignment
from regard.tasks.evaluation import comparison
from regard.tasks.evaluation.evaluate import Evaluating, Evaluation
from regard.tasks.evaluation.evaluate import evaluate as evaluate_translator
from regard.tasks.evaluation.held_out import find_held_out
from regard.tasks.evaluation.texts import MeasuringText, TextEvaluation, evaluate_texts, find_run_text, find_text
from regard.tasks.language.model import LanguageModel
from regard.tasks.load import load
from regard.tasks.model_folder import find_model
from regard.tasks.model_kinds import check_kind
from regard.tasks.training import read_keys
from regard.tasks.translation.model import Translator

AGREE_ON = 500
"""Pairs on which the agreement of two directions is measured, at most."""
COUNTING, DIAGONAL = "ibm-1", "diagonal"


def evaluate(
    model: str | Path | Translator | LanguageModel,
    *,
    data: str | Path = "",
    source: str | Path = "",
    target: str | Path = "",
    split: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Evaluation | TextEvaluation:
    """Score a translator (BLEU, chrF, TER, quality by length) or a language model (perplexity of a text).

    - `model`: a run folder, a model folder, or a model that was loaded.
    - `data`: a test set: file, folder, hf:NAME or builtin:NAME; or two plain files, `source` and `target`. Without
      them, what the run in the folder held out. For a language model, `data` is a text.
    - `split`: a part of the data, such as valid, or test,long of a built-in corpus.
    - `settings`: others under dotted keys: of a translator search.beam, bins, samples, seed, device, data.trust; of a
      language model stride and device.

    `table()` of the result gives all figures as plain values. Nothing is written; `regard evaluate` keeps its figures
    in the run folder.
    """
    folder = Path(model) if isinstance(model, str | Path) else None
    if folder is not None:
        check_kind(find_model(folder), "translate", "language")
    chosen = read_keys(settings or {})
    loaded = load(folder, device=str(chosen.get("device", "cpu"))) if folder is not None else model
    name = comparison.system_names([folder])[0] if folder is not None else "model"
    if isinstance(loaded, LanguageModel):
        if source or target:
            raise ArgumentError(
                f"`source` must be left out for a language model, which is measured on one text, `data`; received "
                f"{source or target}."
            )
        return _evaluate_language(loaded, folder, str(data), split, read_settings(MeasuringText, chosen), name)
    if not isinstance(loaded, Translator):
        name = with_article(type(loaded).__name__)
        raise ArgumentTypeError(f"`model` must be a translator, a language model or a folder of one; received {name}.")
    read = _read_evaluating(data, source, target, split, chosen)
    return evaluate_translator(loaded, find_held_out(read.data, folder), read, name=name)


def compare(
    *systems: str | Path,
    data: str | Path = "",
    source: str | Path = "",
    target: str | Path = "",
    split: str = "",
    settings: Mapping[str, Any] | None = None,
) -> comparison.Comparison:
    """Compare translators on the same test set, by paired bootstrap resampling; the first is the baseline.

    `systems` are run folders, model folders, or files of output; the rest is as for `evaluate`, and without a test set
    it is the one that all runs held out.
    """
    if len(systems) < 2:
        raise ArgumentError(f"`systems` must be two or more; received {len(systems)}. For one: regard.evaluate.")
    read = _read_evaluating(data, source, target, split, read_keys(settings or {}))
    evaluations = comparison.evaluate_systems([Path(item) for item in systems], read, watch=lambda _: _watch_nothing)
    return comparison.compare(evaluations, samples=read.samples, seed=read.seed)


def align(
    model: str | Path | Translator,
    pairs: Sequence[Pair | tuple[str, str]],
    *,
    reverse: str | Path | Translator | None = None,
    join: Join = "grow-diag",
    words: Division = "marks",
    settings: Mapping[str, Any] | None = None,
) -> list[Alignment]:
    """Link the words of sentence pairs by the attention of a translator that is made to output the target.

    - `model`: a run folder, a model folder, a translator; or "ibm-1", which counts, or "diagonal".
    - `pairs`: (source, target) texts, or the pairs of a corpus.
    - `reverse`: a model of the other direction, whose links are joined as `join` says: intersection, union, grow-diag
      or grow-diag-final.
    - `words`: what links count: "marks" counts punctuation apart, "whitespace" what stands between spaces.
    - `settings`: which weights are read: step, layer, head, norms, threshold. Without them, two directions are read
      where they agree most, and one by its last layers.

    >>> [alignment.links for alignment in align("diagonal", [("la casa", "the house")])]
    [(Link(source=0, target=0, sure=True), Link(source=1, target=1, sure=True))]
    """
    _check_choice("join", join, get_args(Join))
    _check_choice("words", words, get_args(Division))
    forward, backward = _load_aligner(model), _load_aligner(reverse)
    plain = [pair if isinstance(pair, Pair) else Pair(source=pair[0], target=pair[1]) for pair in pairs]
    readings = [read_settings(Reading, read_keys(settings)) if settings else PLAIN] * 2
    if settings is None and isinstance(forward, Translator) and isinstance(backward, Translator) and plain:
        readings = [item.reading for item in choose_by_agreement(forward, backward, plain[:AGREE_ON], words=words)]
    both = [item if isinstance(item, Translator) else None for item in (forward, backward)]
    plain, _ = shorten(plain, *both, words=words)
    links = _align_one(forward, plain, readings[0], words)
    if backward is None:
        return links
    return join_directions(links, _align_one(backward, turned_pairs(plain), readings[1], words), join)


def _read_evaluating(
    data: str | Path, source: str | Path, target: str | Path, split: str, chosen: Mapping[str, Any]
) -> Evaluating:
    named = {"corpus": str(data), "source": str(source), "target": str(target), "split": split}
    return read_settings(Evaluating, {"data": {name: item for name, item in named.items() if item}}, chosen)


def _evaluate_language(
    model: LanguageModel, folder: Path | None, data: str, split: str, settings: MeasuringText, name: str
) -> TextEvaluation:
    if data and split:
        raise ArgumentError(f"`split` must be left out with a text, which is read whole; received {split}.")
    if not data and folder is None:
        raise ArgumentError("`data` must name a text for a model that was loaded; received nothing.")
    if data:
        named = find_text(data)
        texts = {named.name: named.text}
    else:
        texts = dict([find_run_text(folder or "", split)])
    return evaluate_texts(model, texts, name=name, stride=settings.stride)


def _load_aligner(model: str | Path | Translator | None) -> str | Translator | None:
    if model is None or isinstance(model, Translator) or model in (COUNTING, DIAGONAL):
        return None if model is None else model if isinstance(model, Translator) else str(model)
    check_kind(find_model(model), "translate")
    translator: Translator = load(model)
    return translator


def _align_one(
    model: str | Translator | None, pairs: Sequence[Pair], reading: Reading, words: Division
) -> list[Alignment]:
    if isinstance(model, Translator):
        return align_pairs(model, pairs, reading=reading, words=words)
    count: Callable[..., list[Alignment]] = align_by_counting if model == COUNTING else align_diagonally
    return count(pairs, words=words)


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ArgumentError(f"`{name}` must be one of {', '.join(known)}; received {value}.{near_miss(value, known)}")


def _watch_nothing(what: str, done: int, total: int) -> None:
    """Show nothing."""
