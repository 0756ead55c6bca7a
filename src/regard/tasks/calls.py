"""What `regard evaluate`, `compare` and `align` do, as calls: `regard.evaluate`, `regard.compare`, `regard.align`."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, get_args

from regard.config.read import read_settings
from regard.data.corpora.pair import Pair
from regard.data.text.word_spans import Division
from regard.errors import ArgumentError, ArgumentTypeError, brief, near_miss, with_article
from regard.inspection.readings.alignment import Reading
from regard.inspection.readings.symmetrize import Join
from regard.pretrained.shipped import named_folder
from regard.tasks.alignment.aligner import Aligner, check_choosing
from regard.tasks.alignment.model import WordAligner, load_aligner
from regard.tasks.alignment.result import Alignment
from regard.tasks.classification.model import Classifier
from regard.tasks.evaluation.aligned import evaluate_aligner
from regard.tasks.evaluation.comparison import Comparison, evaluate_system, evaluate_systems, system_names
from regard.tasks.evaluation.comparison import compare as compare_evaluations
from regard.tasks.evaluation.evaluate import Evaluation, Watch, watch_nothing
from regard.tasks.evaluation.evaluate import evaluate as evaluate_translator
from regard.tasks.evaluation.held_out import find_held_out, run_of
from regard.tasks.evaluation.request import Data, Request
from regard.tasks.evaluation.sides import SideEvaluation, evaluate_labels, evaluate_side
from regard.tasks.evaluation.text_comparison import TextComparison, compare_on_text
from regard.tasks.evaluation.texts import TextEvaluation, evaluate_texts
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel, load_language
from regard.tasks.load import load
from regard.tasks.model_folder import check_kind, find_model
from regard.tasks.task import TASKS
from regard.tasks.training import read_keys
from regard.tasks.translation.model import Translator

Model: TypeAlias = Any
"""A model that was loaded: what `regard.load` gives."""


def evaluate(
    model: str | Path | Model,
    *,
    data: Data = "",
    source: str | Path = "",
    target: str | Path = "",
    split: str = "",
    trust: bool = False,
    settings: Mapping[str, Any] | None = None,
    on_progress: Watch | None = None,
) -> Evaluation | TextEvaluation | SideEvaluation:
    """Measure a model of any task, as `regard evaluate` does.

    | task | what is measured | result |
    | --- | --- | --- |
    | translate | BLEU, chrF, TER, quality by length, perplexity | `Evaluation` |
    | language | perplexity of a text | `TextEvaluation` |
    | classify, images | accuracy, F1, calibration | `SideEvaluation` |
    | questions, captions | right answers by kind; captions right word for word | `SideEvaluation` |
    | align | alignment error against gold links, agreement of both directions | `SideEvaluation` |

    - `model`: a run folder, a model folder, or a model that was loaded; for a translation also a file of the output of
      any system, a line for each pair.
    - `data`: what to measure on: for a translator a file, folder, hf:NAME or builtin:NAME, or two plain files, `source`
      and `target`; the same for an aligner; for a language model a text, or several; for a classifier labeled texts or
      images. Without them, and always for the others, what the run in the folder held out.
    - `split`: a part of the data, such as valid, or test,long of a built-in corpus.
    - `trust`: open what config.toml of a run names that was not made here.
    - `settings`: others under dotted keys: of a translator search.beam, bins, tokenize, case, samples, seed, device; of
      a language model stride and device; of the others device, of a text classifier with `data` its columns, text and
      label, and of an aligner with pairs links, a file of gold ones, words, base and threshold.
    - `on_progress`: called with what is done, how much of it, and of how much.

    `str()` of the result is for people, `table()` gives all figures as plain values. Nothing is written; `regard
    evaluate` keeps the figures of a translator's run in its folder.
    """
    request = Request(data, str(source), str(target), split, trust, read_keys(settings or {}))
    watch = on_progress or watch_nothing
    if not isinstance(model, str | Path):
        return _evaluate_loaded(model, request, watch)
    path = Path(model)
    name = system_names([path])[0]
    if path.is_file():
        read = request.for_pairs()
        return evaluate_system(path, find_held_out(read.data), read, name=name, watch=watch)
    folder = find_model(path)
    match task := check_kind(folder, *TASKS):
        case "translate":
            read = request.for_pairs()
            return evaluate_system(path, find_held_out(read.data, path), read, name=name, watch=watch)
        case "language":
            measuring, texts = request.for_text(path)
            loaded = load_language(path, device=measuring.device)
            return evaluate_texts(loaded, texts, name=name, stride=measuring.stride, watch=watch)
    if task == "align" and (request.data or request.source or request.target):
        choice, links = request.for_links()
        aligner = load_aligner(path, device=links.device)
        return evaluate_aligner(aligner, find_held_out(choice), links, name=name, watch=watch)
    side = request.for_side(task)
    if not request.data:
        return evaluate_side(path, side, split=split, trust=trust, watch=watch)
    loaded = load(path, device=side.device)
    return evaluate_labels(loaded, request.one_corpus(), side, name=name, run=run_of(path), watch=watch)


def compare(
    *systems: str | Path,
    data: Data = "",
    source: str | Path = "",
    target: str | Path = "",
    split: str = "",
    trust: bool = False,
    settings: Mapping[str, Any] | None = None,
    on_progress: Watch | None = None,
) -> Comparison | TextComparison:
    """Compare translators on the same pairs, or language models on the same text; the first is the baseline.

    Translators are compared by paired bootstrap resampling, language models by bits a character.

    `systems` are run folders, model folders, or files of translations; the rest is as for `evaluate`, and without a
    test set it is the one that all runs held out.
    """
    if len(systems) < 2:
        raise ArgumentError(f"`systems` must be two or more; received {len(systems)}. For one, evaluate it.")
    request = Request(data, str(source), str(target), split, trust, read_keys(settings or {}))
    paths, watch = [named_folder(item) for item in systems], on_progress or watch_nothing

    def watch_one(name: str) -> Watch:
        return lambda doing, done, total: watch(f"{name}: {doing}", done, total)

    folders = [find_model(path) for path in paths if path.is_dir()]
    if folders and check_kind(folders[0], "translate", "language") == "language":
        return compare_on_text(paths, *request.for_texts(paths), watch=watch_one)
    read = request.for_pairs()
    evaluations = evaluate_systems(paths, read, watch=watch_one)
    watch("comparing", 0, 1)
    return compare_evaluations(evaluations, samples=read.samples, seed=read.seed)


def align(
    model: str | Path | Translator | WordAligner,
    pairs: Sequence[Pair | tuple[str, str]],
    *,
    reverse: str | Path | Translator | None = None,
    join: Join | None = None,
    words: Division = "marks",
    develop: Sequence[Pair] = (),
    train: Sequence[Pair | tuple[str, str]] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[Alignment]:
    """Link the words of sentence pairs by an aligner, by the attention of a translator that is forced to the target, or
    by counts.

    - `model`: a run folder, a model folder, a translator, an aligner; or "hmm" or "ibm-1", which count, or "diagonal".
    - `pairs`: (source, target) texts, or the pairs of a corpus.
    - `reverse`: a model of the other direction, whose links are joined as `join` says: intersection, union, grow-diag,
      grow-diag-final, or agreement, where both weights are large; by default agreement for "hmm" with "hmm", which
      then learn together, else grow-diag. An aligner has both directions itself.
    - `words`: what links count: "marks" counts punctuation apart, "whitespace" what stands between spaces.
    - `develop`: pairs with gold links (`Pair.links`), by which the layer, head and step are chosen.
    - `train`: more pairs for "hmm" and "ibm-1" to learn from, beside those they align.
    - `settings`: which weights are read: step, layer, head, norms, threshold; of an aligner or of "hmm" in both
      directions threshold alone. Without
      them and `develop`, two directions are read where they agree most, one of four layers or more where it agrees
      most with the links of "hmm", given 100 pairs, and any other by its last layer but one; a model with a head that
      was trained on word links is always read from that.

    A pair of more tokens than a model reads is cut there, with a warning.

    >>> [alignment.links for alignment in align("diagonal", [("la casa", "the house")])]
    [(Link(source=0, target=0, sure=True), Link(source=1, target=1, sure=True))]
    """
    if join is not None:
        _check_choice("join", join, get_args(Join))
        if reverse is None:
            raise ArgumentError(
                f"`join` must go with `reverse`, a model of the other direction; received {join} alone."
            )
    _check_choice("words", words, get_args(Division))
    models = [model] if reverse is None else [model, reverse]
    reading = read_settings(Reading, read_keys(settings)) if settings else None
    check_choosing(models, develop=develop, settings=settings, train=train)
    aligner = Aligner(models, words=words)
    aligner.train_on += _as_pairs(train)
    plain = _as_pairs(pairs)
    if reading is not None:
        aligner.read_by(reading)
    elif develop:
        aligner.choose_by_gold(develop)
    else:
        aligner.choose_by_agreement(plain)
    alignments = list(aligner.align(plain, join))
    if cut := aligner.cut_warning(len(plain)):
        warnings.warn(cut, stacklevel=2)
    return alignments


def _as_pairs(pairs: Sequence[Pair | tuple[str, str]]) -> list[Pair]:
    if isinstance(pairs, str):
        raise ArgumentTypeError(f"`pairs` must be a list of (source, target) texts; received the text {brief(pairs)}.")
    return [pair if isinstance(pair, Pair) else _as_pair(pair, number) for number, pair in enumerate(pairs)]


def _as_pair(pair: Sequence[str], number: int) -> Pair:
    if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise ArgumentTypeError(f"`pairs` must hold two texts each, (source, target); received {pair!r} at {number}.")
    return Pair(source=pair[0], target=pair[1])


def _evaluate_loaded(model: Model, request: Request, watch: Watch) -> Evaluation | TextEvaluation | SideEvaluation:
    """Measure a model that was loaded, whose run is not known: the data must be named."""
    match model:
        case Translator():
            read = request.for_pairs()
            return evaluate_translator(model, find_held_out(read.data), read, watch=watch)
        case LanguageModel():
            measuring, texts = request.for_text(None)
            return evaluate_texts(model, texts, name="model", stride=measuring.stride, watch=watch)
        case WordAligner():
            choice, links = request.for_links()
            return evaluate_aligner(model, find_held_out(choice), links, watch=watch)
        case Classifier() | ImageClassifier():
            task = "classify" if isinstance(model, Classifier) else "images"
            return evaluate_labels(model, request.one_corpus(), request.for_side(task), watch=watch)
    raise ArgumentTypeError(
        "`model` must be a run folder, or a translator, a language model, an aligner or a classifier that was loaded; "
        f"received {with_article(type(model).__name__)}. Give the run folder, whose data is measured on."
    )


def _check_choice(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ArgumentError(f"`{name}` must be one of {', '.join(known)}; received {value}.{near_miss(value, known)}")
