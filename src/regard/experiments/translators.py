"""Small translators of the built-in grammar, trained in a minute: what the experiments on translation compare."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from torch import Tensor

from regard.config.model import NetworkSpec, StatisticalSpec
from regard.data.batches.pairs import Batch
from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair
from regard.data.text.special import END
from regard.data.text.tokenizer import TokenizerPair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.decoding.search import Search
from regard.evaluation.bleu import score
from regard.experiments.experiment import Settings, fit
from regard.models.initialize import start_from_counts
from regard.models.sequence.build import build_model
from regard.models.statistical.counts import count_translator
from regard.tasks.translation.job import TranslationJob
from regard.tasks.translation.model import Translator
from regard.tasks.translation.presets import preset
from regard.tasks.translation.settings import TranslationTrain
from regard.tasks.translation.tokenizers import count_tokens
from regard.training.group import Group

CORPUS = "builtin:es-en"
GREEDY = Search(beam=1)


class Trained(NamedTuple):
    """A translator, and what its training took."""

    translator: Translator
    seconds: float
    losses: list[float]
    """Cross-entropy per token, at each step."""
    ended: list[float]
    """Seconds since the start at which each step ended."""

    @property
    def milliseconds(self) -> float:
        """How long a step takes where nothing disturbs it: nine of ten take longer."""
        times = sorted(after - before for before, after in pairwise([0.0, *self.ended]))
        return 1000 * times[len(times) // 10]


def draw_pairs(size: int, *, seed: int, longest: int = 20) -> list[Pair]:
    """Draw pairs to train on, of at most so many words."""
    return corpus(CORPUS, split="train", size=size, seed=seed, max_words=longest)


def learn_words(pairs: Sequence[Pair]) -> TokenizerPair:
    """Take every word as a token."""
    return train_tokenizers(pairs, TokenizerConfig(kind="word", joint=False, min_frequency=1))


def train_preset(
    name: str | NetworkSpec,
    pairs: Sequence[Pair],
    *,
    tokenizers: TokenizerPair,
    steps: int,
    learning_rate: float = 4e-3,
    watch: Callable[[float], None] | None = None,
) -> Trained:
    """Train a preset of `regard train`, or what is described, without dropout, on batches of about 1,000 tokens."""
    spec = preset(name, tokens=100_000, vocabulary=1_000) if isinstance(name, str) else name
    spec = replace(spec, dropout=0.0)
    job = TranslationJob(pairs, pairs[:1], tokenizers, TranslationTrain(batch_tokens=1024), group=Group())
    model = build_model(spec, source_vocabulary=tokenizers.source.size, target_vocabulary=tokenizers.target.size)
    start_from_counts(model.output, count_tokens(pairs, tokenizers.target))
    batches, begun, ended = _endless(job), time.perf_counter(), list[float]()

    def loss() -> Tensor:
        ended.append(time.perf_counter() - begun)
        batch = next(batches)
        return job.loss(model, batch).total / batch.num_tokens

    losses = fit(model, loss, steps=steps, learning_rate=learning_rate, watch=watch)
    ended = [*ended[1:], time.perf_counter() - begun]
    return Trained(Translator(model, tokenizers, unknown="keep"), ended[-1], losses, ended)


def time_steps(trained: Mapping[str, Trained], pairs: Sequence[Pair], *, rounds: int) -> dict[str, float]:
    """Time a step of each on one batch, in milliseconds, at best; in turns, so that other work disturbs all alike."""
    times: dict[str, list[float]] = {name: [] for name in trained}
    for _ in range(rounds):
        for name, result in trained.items():
            translator = result.translator
            job = TranslationJob(
                pairs, pairs[:1], translator.tokenizers, TranslationTrain(batch_tokens=1024), group=Group()
            )
            batch = next(iter(job.batches))
            begun = time.perf_counter()
            job.loss(translator.network, batch).total.backward()
            times[name].append(time.perf_counter() - begun)
            translator.network.zero_grad()
    return {name: 1000 * min(values) for name, values in times.items()}


def telling(settings: Settings, doing: str, begun: float, share: float) -> Callable[[float], None]:
    """Give what tells the settings' watcher of a part of the work: from `begun` on, `share` of the whole."""
    return lambda done: settings.watch(begun + share * done, doing)


def _endless(job: TranslationJob) -> Iterator[Batch]:
    while True:
        yield from job.batches


def count_preset(pairs: Sequence[Pair], *, tokenizers: TokenizerPair) -> Translator:
    """Count the statistical translator."""
    sides = (
        tokenizers.source.encode_batch(pair.source for pair in pairs),
        tokenizers.target.encode_batch(pair.target for pair in pairs),
    )
    source, target = ([side[index].tolist() for index in range(len(side))] for side in sides)
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}
    return Translator(count_translator(StatisticalSpec(), source, target, **sizes, end=END), tokenizers, unknown="keep")


def smoothed(losses: Sequence[float], window: int = 20) -> list[float]:
    """Take the mean of each loss and those before it, so many at most.

    >>> smoothed([4.0, 2.0, 0.0], window=2)
    [4.0, 3.0, 1.0]
    """
    spans = (losses[max(0, step - window + 1) : step + 1] for step in range(len(losses)))
    return [sum(span) / len(span) for span in spans]


def bleu(translator: Translator, pairs: Sequence[Pair], search: Search = GREEDY) -> float:
    """Score translations against the references."""
    return score(translator.translate([pair.source for pair in pairs], search), [pair.target for pair in pairs]).bleu
