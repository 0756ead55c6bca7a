"""The demonstration: the same sentences through one fixed vector and through attention, measured side by side."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from regard.data.builtin import corpus
from regard.data.builtin.sampling import normalize
from regard.data.corpora.pair import Pair
from regard.decoding.search import Search
from regard.evaluation.alignment_error import AlignmentScores, alignment_error
from regard.files import write_text
from regard.inspection.readings.alignment import Reading
from regard.tasks.alignment.align import align
from regard.tasks.alignment.counted import align_by_counting, align_diagonally
from regard.tasks.alignment.reading_choice import choose_by_gold
from regard.tasks.evaluation.evaluate import Evaluating, Evaluation, Watch, evaluate
from regard.tasks.evaluation.held_out import HeldOut
from regard.tasks.translation.model import Translator, load

CORPUS = "builtin:es-en"
SYSTEMS = ("fixed", "bahdanau")
LECTURES = ("Yo soy de Canada", "¿Me puedes traer un tenedor?")
"""The lectures' sentences, as the lectures print them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much to do."""

    pairs: tuple[tuple[int, int], ...]
    """How many training pairs of at most how many words are drawn, each time."""
    edges: tuple[int, ...]
    """Lengths at which a bin begins."""
    each: int
    """Test sentences in each bin."""
    settings: dict[str, tuple[str, ...]]
    """What each model is trained with, beside its preset."""
    minutes: str

    @property
    def longest(self) -> int:
        """The most words that a sentence has."""
        return max(most for _, most in self.pairs)


FULL = Plan(
    pairs=((2000, 9), (2500, 20), (3500, 60)),
    edges=(10, 20, 30, 40),
    each=40,
    settings={
        "fixed": ("model.hidden_size=192", "train.steps=1200", "train.batch_tokens=768", "train.schedule.rate=0.006"),
        "bahdanau": ("train.steps=700", "train.batch_tokens=1024", "train.schedule.rate=0.008"),
    },
    minutes="two to four minutes",
)
FAST = Plan(
    pairs=((1500, 7), (1500, 14)),
    edges=(5, 8, 11),
    each=30,
    settings={
        "fixed": ("train.steps=650", "train.batch_tokens=384", "train.schedule.rate=0.008"),
        "bahdanau": (
            "model.hidden_size=96",
            "model.embedding_size=64",
            "train.steps=850",
            "train.batch_tokens=384",
            "train.schedule.rate=0.012",
        ),
    },
    minutes="under a minute",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Data:
    """The pairs of the demonstration."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    """As many of each bin of lengths."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """A sentence, what each model makes of it, and the attention weights of the model that attends, word by word."""

    source: str
    read_as: Mapping[str, str]
    """Words that the models know with other accents or case, and read so."""
    reference: str
    by_system: dict[str, str]
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: Float[Tensor, "target source"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Demonstrated:
    """Everything that was measured."""

    plan: Plan
    evaluations: tuple[Evaluation, ...]
    """Of each system, in the order of `SYSTEMS`."""
    shown: tuple[Shown, ...]
    reading: Reading
    """Which of the weights links were read from, chosen on the validation pairs."""
    errors: dict[str, AlignmentScores]
    """Alignment error of attention and of what it is compared with."""
    figures: dict[str, dict[str, float]]
    """Steps, parameters and seconds of training, of each system."""
    sure: str
    """A sentence that the model with attention translates as the reference does, to try it with."""

    def score(self, system: str, position: int) -> float:
        """Give the BLEU of a system on the sentences of one bin of lengths."""
        item = self.evaluations[SYSTEMS.index(system)]
        return item.lengths[position].scores["BLEU"].value


def draw_pairs(plan: Plan) -> Data:
    """Draw the pairs from the built-in grammar; every length of the test is equally frequent."""
    drawn = [pair for size, most in plan.pairs for pair in corpus(CORPUS, split="train", size=size, max_words=most)]
    bounds = [3, *plan.edges, plan.longest + 1]
    test = [
        pair
        for low, high in pairwise(bounds)
        for pair in corpus(CORPUS, split="test", size=plan.each, min_words=low, max_words=high - 1)
    ]
    return Data(
        train=list({pair.source: pair for pair in drawn}.values()),
        valid=corpus(CORPUS, split="valid", size=100, max_words=plan.longest),
        test=test,
    )


def write_pairs(data: Data, folder: Path) -> None:
    """Write the pairs as plain files, one sentence a line: what `regard train` takes from anyone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("train", data.train), ("valid", data.valid), ("test", data.test)):
        write_text(folder / f"{name}.es", "".join(f"{pair.source}\n" for pair in pairs))
        write_text(folder / f"{name}.en", "".join(f"{pair.target}\n" for pair in pairs))
        write_text(folder / f"{name}.links", "".join(f"{' '.join(map(str, pair.links))}\n" for pair in pairs))


def training_command(system: str, plan: Plan, folder: Path, *, validations: int = 1, samples: int = 2) -> list[str]:
    """Give the command that trains one of the models: the one a user would type."""
    data = folder / "pairs"
    steps = next(item.partition("=")[2] for item in plan.settings[system] if item.startswith("train.steps"))
    settings = [
        *plan.settings[system],
        "model.dropout=0",
        "tokenizer.kind=word",
        "train.schedule.kind=cosine",
        f"train.schedule.warm_up={int(steps) // 10}",
        f"train.validate_every={int(steps) // validations}",
        f"train.checkpoint_every={max(50, int(steps) // 4)}",
        "train.log_every=10",
        f"train.samples={samples}",
        "train.threads=1",
        "train.device=cpu",
        f"data.valid_source={data / 'valid.es'}",
        f"data.valid_target={data / 'valid.en'}",
        "data.license=MIT, as regard itself",
    ]
    command = [sys.executable, "-m", "regard", "train", "--preset", system, "--out", str(folder / system)]
    command += ["--source", str(data / "train.es"), "--target", str(data / "train.en")]
    return command + [part for item in settings for part in ("--set", item)]


def examine(folder: Path, plan: Plan, data: Data, *, watch: Watch) -> Demonstrated:
    """Measure both models: quality by length, a few sentences, and the alignment."""
    models = {system: load(folder / system) for system in SYSTEMS}
    held_out = HeldOut(pairs=data.test, name=f"{CORPUS}, {plan.each} test sentences of each length")
    how = Evaluating(search=Search(beam=1), bins=plan.edges, samples=200)
    evaluations = tuple(evaluate(models[system], held_out, how, name=system, watch=watch) for system in SYSTEMS)
    attending = models["bahdanau"]
    watch("aligning", 0, 3)
    reading = choose_by_gold(attending, data.valid).reading
    watch("aligning", 1, 3)
    gold = [pair.links for pair in data.test]
    result = {
        "attention": align(attending, data.test, reading=reading),
        "IBM Model 1": align_by_counting(data.test, train_on=data.train),
        "diagonal": align_diagonally(data.test),
    }
    watch("aligning", 3, 3)
    errors = {name: alignment_error([item.links for item in links], gold) for name, links in result.items()}
    return Demonstrated(
        plan=plan,
        evaluations=evaluations,
        shown=tuple(_show(models, pair, reading) for pair in _chosen(data.test, plan)),
        reading=reading,
        errors=errors,
        figures={system: json.loads(_figures(folder / system)) for system in SYSTEMS},
        sure=_sure(attending, data.test),
    )


def _figures(run: Path) -> str:
    return (run / "model" / "figures.json").read_text(encoding="utf-8")


def _sure(translator: Translator, test: Sequence[Pair]) -> str:
    """Find a sentence of some length that is translated right, as `regard translate` does it."""
    tried = [pair for pair in test if 5 <= len(pair.source.split()) <= 12][:40]
    translations = translator.translate([pair.source for pair in tried])
    return next(
        (pair.source for pair, text in zip(tried, translations, strict=True) if text == pair.target), test[0].source
    )


def _chosen(test: Sequence[Pair], plan: Plan) -> list[Pair]:
    """Take the lectures' sentences, one of middle length, and two of the longest."""
    references = {normalize(pair.source): pair.target for pair in corpus(CORPUS, split="lectures")}
    typed = [Pair(source=sentence, target=references[normalize(sentence)]) for sentence in LECTURES]
    middle = test[plan.each * (len(plan.edges) // 2)]
    return [*typed, middle, test[-2], test[-1]]


def _show(models: dict[str, Translator], pair: Pair, reading: Reading) -> Shown:
    translations = {system: model.translate([pair.source], Search(beam=1))[0] for system, model in models.items()}
    drawn = align(models["bahdanau"], [Pair(source=pair.source, target=translations["bahdanau"])], reading=reading)[0]
    return Shown(
        source=pair.source,
        read_as=drawn.read_as,
        reference=pair.target,
        by_system=translations,
        source_words=drawn.source,
        target_words=drawn.target,
        weights=drawn.weights[:, : len(drawn.source)],
    )
