"""A classifier with its tokenizer and labels: plain text in, decisions out, each with the words it weighed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import __version__
from regard.config.classify import ClassifierSpec, SavedClassifier
from regard.data.batches.bucketing import make_index_batches
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import words as divide_words
from regard.data.text.tokenizer import Encoded, Tokenizer
from regard.data.text.word_spans import compose
from regard.errors import ArgumentError, ArgumentTypeError
from regard.inspection.readings.word_shares import gradient_shares, removal_shares
from regard.inspection.trace.inspected import Inspection
from regard.models.classification import Network, build_classifier
from regard.models.sequence.build import count_parameters
from regard.tasks.classification.job import AnyClassifier, make_labeled_batch
from regard.tasks.finite_output import check_output
from regard.tasks.model_folder import open_model
from regard.tasks.saved_model import (
    build_saved,
    check_vocabulary,
    list_text,
    read_names,
    read_saved,
    whole_folder,
    write_saved,
)
from regard.training.group import pick_device

By: TypeAlias = Literal["model", "gradient", "removal"]
LABELS, TOKENIZER = "labels.json", "tokenizer.json"
BATCH_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The label of a text, and the share of each word in the decision."""

    label: str
    probabilities: dict[str, float]
    """Of every label, summing to one."""
    words: tuple[str, ...]
    """The words that were read."""
    weights: tuple[float, ...]
    """The share of each word, summing to one; all zero where the model read none of them."""
    cut: int = 0
    """Tokens at the end that were not read, because the text is too long."""

    @property
    def probability(self) -> float:
        """That of the label chosen."""
        return self.probabilities[self.label]

    def heaviest(self, count: int = 5) -> list[tuple[str, float]]:
        """List the words with the largest shares."""
        pairs = sorted(zip(self.words, self.weights, strict=True), key=lambda pair: -pair[1])
        return [(word, weight) for word, weight in pairs[:count] if weight > 0]


class Classifier:
    """A trained model that labels texts. `load_classifier` reads one from a folder."""

    def __init__(
        self,
        model: AnyClassifier,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        spec: ClassifierSpec,
        *,
        max_length: int = 512,
    ) -> None:
        self.model, self.tokenizer, self.labels = model.eval(), tokenizer, tuple(labels)
        self.spec, self.max_length = spec, max_length

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(iter([*self.model.parameters(), *self.model.buffers()])).device

    def classify(self, texts: Sequence[str], *, by: By = "model") -> list[Decision]:
        """Label texts, in order.

        `by` says what the shares of the words are: "model", the weights the model itself has, or gradient times input
        where it has none; "gradient", gradient times input for every model (for TF-IDF the same as its own); "removal",
        what the decision changes by without the word, one more pass for each: the same question to every model.
        """
        return list(self.stream(texts, by=by))

    def stream(self, texts: Sequence[str], *, by: By = "model") -> Iterator[Decision]:
        """Label texts some at a time, in order."""
        _check(texts, by)
        at_once = 8 if by == "removal" else 256  # which asks once for each word
        for start in range(0, len(texts), at_once):
            yield from self._some(texts[start : start + at_once], by)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Give the probabilities alone, a row for each text: quicker."""
        from regard.tasks.classification.job import predict

        return predict(self.model, self.encode(texts), tokens=BATCH_TOKENS, device=self.device)

    def inspect(self, text: str) -> Inspection:
        """Record what every token, and the summary of the text, attends to in every layer and head."""
        from regard.tasks.inspected import inspect_classifier  # imports this module

        return inspect_classifier(self, text)

    def encode(self, texts: Sequence[str]) -> Ragged:
        """Give the tokens that are read of each text."""
        return cut_texts(self.tokenizer.encode_batch(texts), self.max_length)

    def save(self, folder: Path) -> None:
        """Write model.safetensors, config.json, tokenizer.json and labels.json. Nothing is pickled."""
        config = SavedClassifier(
            version=__version__,
            task="classify",
            model=self.spec,
            vocabulary_size=self.tokenizer.size,
            num_labels=len(self.labels),
            max_length=self.max_length,
        )
        write_saved(folder, self.model, config, {TOKENIZER: self.tokenizer.to_json(), LABELS: list_text(self.labels)})

    def __repr__(self) -> str:
        size = count_parameters(self.model) or sum(item.numel() for item in self.model.buffers())
        return f"Classifier({self.spec.kind}, {size:,} parameters, {len(self.labels)} labels, on {self.device})"

    def _some(self, texts: Sequence[str], by: By) -> list[Decision]:
        encoded = [self.tokenizer.encode(text) for text in texts]
        read = Ragged.from_lists(item.ids[: self.max_length] for item in encoded)
        lengths = np.maximum(read.lengths, 1)
        result: dict[int, Decision] = {}
        for indices in make_index_batches(lengths, np.ones_like(lengths), tokens=BATCH_TOKENS, shuffle=False):
            batch = make_labeled_batch(read, np.zeros(len(read), dtype=np.int64), indices)
            tokens, size = batch.source.to(self.device), batch.source_lengths
            probabilities, weights = self._ask(tokens, size, by)
            for row, index in enumerate(indices.tolist()):
                shares = self._gather(encoded[index], weights[row], by)
                result[index] = self._decide(texts[index], encoded[index], probabilities[row], shares)
        return [result[index] for index in range(len(texts))]

    def _ask(self, tokens: Tensor, lengths: Tensor, by: By) -> tuple[list[list[float]], list[list[float]]]:
        with torch.no_grad():
            output = self.model(tokens, lengths)
        weights = output.weights
        if isinstance(self.model, Network) and (weights is None or by == "gradient"):
            weights = gradient_shares(self.model, tokens, lengths)
        return output.logits.double().softmax(-1).tolist(), weights.double().tolist()

    def _gather(self, encoded: Encoded, weights: Sequence[float], by: By) -> list[float]:
        """Add the weights of tokens up to those of words, or ask anew without each word."""
        read, words = encoded.ids[: self.max_length], encoded.words[: self.max_length]
        if by == "removal":
            return removal_shares(self.model, read, words, device=self.device)
        shares = [0.0] * (max(words, default=-1) + 1)
        for word, weight in zip(words, weights, strict=False):
            shares[word] += weight
        return shares

    def _decide(self, text: str, encoded: Encoded, probabilities: Sequence[float], shares: Sequence[float]) -> Decision:
        check_output(probabilities, of=text)
        total = sum(shares)
        return Decision(
            label=self.labels[int(np.argmax(probabilities))],
            probabilities=dict(zip(self.labels, probabilities, strict=True)),
            words=tuple(self._words(text)[: len(shares)]),
            weights=tuple(share / total if total else 0.0 for share in shares),
            cut=max(0, len(encoded.ids) - self.max_length),
        )

    def _words(self, text: str) -> list[str]:
        """Name the words as they are written, where a lower-cased text has as many."""
        written, read = divide_words(compose(text)), divide_words(self.tokenizer.normalize(text))
        return written if len(written) == len(read) else read


def load_classifier(path: str | Path, *, device: torch.device | str = "cpu") -> Classifier:
    """Load the classifier in a model folder, or of the run in a run folder; "auto" takes a GPU where there is one."""
    folder = open_model(path)
    config = read_saved(folder, "classify", SavedClassifier)
    target_device, size, count = pick_device(device, argument="device"), config.vocabulary_size, config.num_labels
    with whole_folder(folder, "classify"):
        model = build_saved(lambda: build_classifier(config.model, vocabulary_size=size, num_labels=count), folder)
        tokenizer, labels = Tokenizer.load(folder), read_names(folder / LABELS, count)
        check_vocabulary(folder, size, tokenizer)
    return Classifier(model.to(target_device), tokenizer, labels, config.model, max_length=config.max_length)


def cut_texts(texts: Ragged, length: int) -> Ragged:
    """Keep the first tokens of each text."""
    if not (texts.lengths > length).any():
        return texts
    return Ragged.from_lists([texts[index][:length].tolist() for index in range(len(texts))])


def _check(texts: Sequence[str], by: str) -> None:
    if by not in get_args(By):
        raise ArgumentError(f'`by` must be model, gradient or removal; received "{by}".')
    if isinstance(texts, str):
        raise ArgumentError(f'`texts` must be a list of texts; received one string. Write ["{texts[:20]}"].')
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"`texts` must be strings; received {type(text).__name__} at index {index}.")
