"""Evaluate a translator, or the output of any system, on pairs it has not seen."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, TypeAlias

from regard import __version__
from regard.data.corpora.pair import words
from regard.decoding.search import Search
from regard.errors import plural
from regard.evaluation.attention_tally import AttentionTally, HeadAttention
from regard.evaluation.bootstrap import SAMPLES, SEED, Interval, interval
from regard.evaluation.by_length import EDGES, LengthScores, by_length, make_bins
from regard.evaluation.measure import Measure, measure
from regard.evaluation.perplexity import Perplexity, perplexity
from regard.evaluation.scoring import ChosenCase, ChosenTokenize, Name, Scoring, has_upper_case, suited_scoring
from regard.models.precision import Precision
from regard.tasks.evaluation.held_out import Choice, HeldOut
from regard.tasks.translation.model import Translation, Translator

AT_ONCE = {"cpu": 64, "cuda": 1024}
"""Sentences between two reports of progress."""

Watch: TypeAlias = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much."""


def watch_nothing(doing: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True, kw_only=True)
class Evaluating:
    """How to evaluate."""

    data: Choice = field(default_factory=Choice)
    """Which pairs to evaluate on."""
    search: Search = field(default_factory=Search)
    """How to search for translations."""
    bins: tuple[int, ...] = EDGES
    """Source lengths at which a bin begins, in words."""
    tokenize: ChosenTokenize = "auto"
    """What BLEU's words are: 13a of plain text, none where it is tokenized already, words as regard divides it, or
    another of sacrebleu's; auto is none for tokenized references and 13a for others."""
    case: ChosenCase = "auto"
    """Whether case counts: mixed, or lower, without it; auto is lower for a model that outputs no upper case."""
    samples: int = SAMPLES
    """Resamples for confidence intervals and significance."""
    seed: int = SEED
    """Of the resamples."""
    device: str = "cpu"
    """Where the model runs."""
    precision: Precision = "float32"
    """Of the matrices: float32, bfloat16 or int8."""
    shortlist: bool = False
    """On a CPU, predict only the words of the model folder's shortlist."""

    def __post_init__(self) -> None:
        make_bins(self.bins)


class Outputs(NamedTuple):
    """What a system output, with its search and attention where they are known, which of files they are not."""

    hypotheses: Sequence[str]
    perplexity: Perplexity | None = None
    token: str = ""
    """What the model's target tokens are, such as bpe; perplexity is counted in them."""
    attention: Sequence[HeadAttention] = ()
    parameters: int | None = None
    sentences_per_second: float | None = None
    unfinished: int = 0
    cut: int = 0
    lower: bool = False
    """Whether the model outputs no upper case."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Figures of one system on one set of pairs."""

    name: str
    held_out: HeldOut
    outputs: Outputs
    measures: dict[Name, Measure]
    scores: dict[Name, Interval]
    scoring: Scoring
    """What the words are, and whether case counts."""
    lengths: list[LengthScores]
    notes: tuple[str, ...]
    signature: str
    settings: Evaluating = field(default_factory=Evaluating)
    """How it was measured."""

    @property
    def title(self) -> str:
        """What was measured, on what, and how much of it."""
        return f"{self.name} on {self.held_out.name}: {plural(len(self.held_out.pairs), 'pair')}"

    def __str__(self) -> str:
        scores = ", ".join(
            f"{name} {score.value:.2f} ({score.low:.1f}–{score.high:.1f})" for name, score in self.scores.items()
        )
        spelled = self.outputs.perplexity
        scores += "" if spelled is None else f"; perplexity {spelled.per_word:,.2f} a word"
        return "\n".join([self.title, scores, *(f"note: {note}" for note in self.notes), self.signature])

    def table(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON."""
        outputs = self.outputs
        return {
            "name": self.name,
            "test_set": self.held_out.name,
            "sentences": len(self.held_out.pairs),
            "fingerprint": self.held_out.fingerprint,
            "scores": {
                name: result._asdict() | {"signature": self.measures[name].signature}
                for name, result in self.scores.items()
            },
            "perplexity": None if outputs.perplexity is None else asdict(outputs.perplexity) | {"token": outputs.token},
            "by_length": [_length_table(item) for item in self.lengths],
            "attention": [asdict(item) for item in outputs.attention],
            "parameters": outputs.parameters,
            "sentences_per_second": outputs.sentences_per_second,
            "notes": list(self.notes),
            "signature": self.signature,
        }


def _length_table(one: LengthScores) -> dict[str, Any]:
    table: dict[str, Any] = {"low": one.bin.low, "high": one.bin.high, "mean_length": one.mean_length}
    table |= {"sentences": one.sentences, "few": one.few}
    return table | {name: result._asdict() for name, result in one.scores.items()}


def evaluate(
    translator: Translator,
    held_out: HeldOut,
    settings: Evaluating | None = None,
    *,
    name: str = "model",
    watch: Watch = watch_nothing,
) -> Evaluation:
    """Translate the sources, compare with the references, and ask the model what it thinks of those.

    Attention is that of the translations, of the search; perplexity that of the references.
    """
    settings = settings or Evaluating()
    begun = time.perf_counter()
    tally, output = AttentionTally(), dict[int, Translation]()
    for index, translation in _translate(translator, held_out.sources, settings.search, watch):
        if translation.weights is not None:
            tally.add(translation.weights, finished=translation.finished)
        output[index] = translation
    seconds = time.perf_counter() - begun
    outputs = Outputs(
        hypotheses=[output[index].text for index in range(len(output))],
        perplexity=surprise(translator, held_out, watch=watch),
        token=translator.tokenizers.target.kind,
        attention=tally.result(),
        parameters=translator.num_parameters,
        sentences_per_second=len(output) / seconds,
        unfinished=sum(not item.finished for item in output.values()),
        cut=sum(item.cut > 0 for item in output.values()),
        lower=translator.tokenizers.target.lowercases,
    )
    return assess(outputs, held_out, settings, name=name, watch=watch)


def assess(
    outputs: Outputs,
    held_out: HeldOut,
    settings: Evaluating | None = None,
    *,
    name: str = "hypotheses",
    watch: Watch = watch_nothing,
) -> Evaluation:
    """Score the outputs of any system."""
    settings = settings or Evaluating()
    watch("scoring", 0, 1)
    hypotheses, references = outputs.hypotheses, held_out.references
    scoring = suited_scoring(references, tokenize=settings.tokenize, case=settings.case, lower=outputs.lower)
    measures = measure(hypotheses, references, scoring=scoring)
    again = {"samples": settings.samples, "seed": settings.seed}
    divide = str.split if scoring.tokenize == "none" else words
    lengths = [len(divide(source)) for source in held_out.sources]
    result = Evaluation(
        name=name,
        held_out=held_out,
        outputs=outputs,
        measures=measures,
        scores={metric: interval(item, **again) for metric, item in measures.items()},
        scoring=scoring,
        lengths=by_length(
            {metric: measures[metric] for metric in ("BLEU", "chrF")}, lengths, edges=settings.bins, **again
        ),
        notes=(*_scoring_notes(scoring, outputs, held_out, settings), *_notes(outputs, held_out)),
        signature=_signature(outputs, held_out, settings),
        settings=settings,
    )
    watch("scoring", 1, 1)
    return result


def _translate(
    translator: Translator, texts: Sequence[str], search: Search, watch: Watch
) -> Iterator[tuple[int, Translation]]:
    """Translate those of like length together, and keep the weights of a few at a time only."""
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    at_once = AT_ONCE.get(translator.device.type, AT_ONCE["cpu"])
    for start in range(0, len(order), at_once):
        watch("translating", start, len(order))
        chosen = order[start : start + at_once]
        result = translator.search([texts[index] for index in chosen], search, weights=True)
        yield from ((index, best[0]) for index, best in zip(chosen, result, strict=True))
    watch("translating", len(order), len(order))


def surprise(translator: Translator, held_out: HeldOut, *, watch: Watch = watch_nothing) -> Perplexity:
    """Ask a model how likely the references are, as its tokenizer spells them."""
    pairs, target = held_out.pairs, translator.tokenizers.target
    result: list[Translation] = []
    at_once = AT_ONCE.get(translator.device.type, AT_ONCE["cpu"])
    for start in range(0, len(pairs), at_once):
        watch("perplexity", start, len(pairs))
        some = pairs[start : start + at_once]
        result += translator.force([pair.source for pair in some], [pair.target for pair in some])
    watch("perplexity", len(pairs), len(pairs))
    spelled = [target.normalize(pair.target) for pair in pairs]
    return perplexity(
        [item.log_probabilities for item in result],
        words=[len(words(text)) for text in spelled],
        characters=[len(text) for text in spelled],
        unknown=sum(item.target_tokens.count("<unk>") for item in result),
    )


def _scoring_notes(scoring: Scoring, outputs: Outputs, held_out: HeldOut, settings: Evaluating) -> Iterator[str]:
    """Describe what was chosen for the user, and what the user should choose."""
    if settings.tokenize == "auto" and scoring.tokenize == "none":
        yield (
            "The references are tokenized, with a space before the final period: BLEU takes them as they are "
            "(tok:none), and compares with figures on the same tokens alone. Score plain text by `tokenize=13a`."
        )
    if settings.case == "auto" and scoring.lowercase:
        yield "The model outputs no upper case: case does not count (case:lc). To count it, `case=mixed`."
    elif settings.case == "auto" and not has_upper_case(outputs.hypotheses) and has_upper_case(held_out.references):
        yield (
            "No hypothesis has upper case, and references have: where the system outputs lower case alone, score it by "
            "`case=lower`."
        )


def _notes(outputs: Outputs, held_out: HeldOut) -> Iterator[str]:
    """Describe what a reader of the figures should know."""
    total = f"{len(outputs.hypotheses):,}"
    if held_out.report is not None:
        yield f"Of {held_out.report.total:,} lines, {held_out.report.kept:,} are of use. {held_out.report}"
    if outputs.unfinished:
        yield f"Of {total} translations, {outputs.unfinished:,} reached the longest length without an end."
    if outputs.cut:
        yield f"Of {total} sources, {outputs.cut:,} had more tokens than the model reads, and lost the rest."
    if outputs.perplexity is not None and outputs.perplexity.unknown:
        tokens, unknown = outputs.perplexity.tokens, outputs.perplexity.unknown
        yield (
            f"Of {tokens:,} reference tokens, the model does not know {unknown:,}, which makes its perplexity look "
            "better; compare it within this vocabulary only."
        )


def _signature(outputs: Outputs, held_out: HeldOut, settings: Evaluating) -> str:
    start = f"task:evaluation|pairs:{len(held_out.pairs)}|test:{held_out.fingerprint}"
    how = f"|{_searched(settings.search)}" if outputs.parameters is not None else ""
    return f"{start}{how}|bs:{settings.samples}|seed:{settings.seed}|version:{__version__}"


def _searched(search: Search) -> str:
    """Name how outputs were searched for, and every setting that is not the usual one."""
    plain = Search()
    kept = [f"{field.name}:{getattr(search, field.name)}" for field in fields(search) if field.name not in _NAMED
            and getattr(search, field.name) != getattr(plain, field.name)]  # fmt: skip
    if search.sampling is None:
        return "|".join([f"beam:{search.beam}", f"length_penalty:{search.length_penalty:g}", *kept])
    drawn = [f"{field.name}:{getattr(search.sampling, field.name):g}" for field in fields(search.sampling)]
    return "|".join(["sampling", *drawn, *kept])


_NAMED = ("beam", "length_penalty", "sampling")
