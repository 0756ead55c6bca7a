"""A shortlist of output words: of a batch, only those that its source words may translate to, and the commonest.

The output matrix has a row for each word of the vocabulary, and on a CPU most of a step goes into it. A table learned
from the training data says which target tokens go with each source token; the others are not predicted at all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError, DataError
from regard.files import write_whole
from regard.models.folder import open_tensors
from regard.models.precision import Int8Linear
from regard.models.sequence.prediction import log_probabilities
from regard.models.sequence.protocol import AnyModel, Stepped
from regard.models.statistical.ibm_model_1 import IbmModel1

FILE = "shortlist.safetensors"
"""Its name in a model folder."""
SPECIAL = 4
"""The first tokens of every vocabulary are special: padding, unknown, start, end."""
COMMON = 500
"""Target tokens that are always on the list: the commonest."""
EACH = 20
"""Target tokens for each source token: the likeliest."""


class Shortlist(NamedTuple):
    """Which target tokens a batch of sources may need."""

    common: Int[Tensor, " common"]
    """Those that any source may need: the special tokens, and the commonest."""
    table: Int[Tensor, "source_vocabulary each"]
    """The likeliest translations of each source token; the padding token fills what is left."""

    def save(self, folder: Path) -> None:
        """Write it into a model folder."""
        tensors = {name: item.int() for name, item in self._asdict().items()}
        write_whole(folder / FILE, lambda path: save_file(tensors, path))

    @classmethod
    def load(cls, folder: Path, *, vocabularies: tuple[int, int]) -> "Shortlist":
        """Read that of a model folder, whose source and target vocabularies have these sizes."""
        path, (source_vocabulary, target_vocabulary) = folder / FILE, vocabularies
        if not path.is_file():
            raise DataError(
                f"`shortlist` must be False for a model without {FILE}; received True for {folder}. "
                "Write a folder with one: regard compress MODEL FOLDER --train SOURCE TARGET."
            )
        with open_tensors(path) as file:
            stored = {name: file.get_slice(name) for name in sorted(file.keys())}
            shapes = {name: len(item.get_shape()) for name, item in stored.items() if item.get_dtype() == "I32"}
            if shapes != {"common": 1, "table": 2} or stored["table"].get_shape()[0] != source_vocabulary:
                raise DataError(
                    f"{path} must hold common, a list, and table, {source_vocabulary:,} rows, in I32; received "
                    f"{', '.join(f'{name} {item.get_dtype()} {item.get_shape()}' for name, item in stored.items())}."
                )
            result = cls(*(file.get_tensor(name).long() for name in cls._fields))
        low, high = torch.cat([item.flatten() for item in result]).aminmax()
        if low < 0 or high >= target_vocabulary or not {*range(SPECIAL)} <= {*result.common.tolist()}:
            raise DataError(
                f"{path} must hold tokens from 0 to {target_vocabulary - 1:,}, in common all {SPECIAL} special "
                f"ones; received numbers from {int(low)} to {int(high)}."
            )
        return result

    def words(self, source: Int[Tensor, "batch source"]) -> Int[Tensor, " words"]:
        """Give the tokens for this batch, ascending: so the special tokens keep their numbers."""
        words: Tensor = torch.cat([self.common, self.table[source.unique()].flatten()]).unique()
        return words

    @classmethod
    def learn(
        cls,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        *,
        source_vocabulary: int,
        common: int = COMMON,
        each: int = EACH,
        iterations: int = 4,
    ) -> "Shortlist":
        """Learn from sentence pairs in token numbers, by IBM Model 1 and by counting.

        >>> Shortlist.learn([[4, 5], [4, 6]], [[7, 8], [7, 9]], source_vocabulary=7, common=0, each=1).table[4]
        tensor([7])
        """
        if not len(sources):
            raise ArgumentError("`sources` must hold at least one sentence; received none.")
        texts = ([list(map(str, sentence)) for sentence in side] for side in (sources, targets))
        model = IbmModel1.train(*texts, iterations=iterations)
        table = torch.zeros(source_vocabulary, each, dtype=torch.long)
        source_names, target_names = (
            np.array(list(map(int, side))) for side in (model.source_words, model.target_words)
        )
        number, word = np.divmod(model.entries, max(len(target_names), 1))
        order = np.lexsort((-model.probabilities, number))
        number, word = number[order], word[order]
        rank = np.arange(len(number)) - np.searchsorted(number, number)
        kept = (number > 0) & (rank < each)  # 0 is NULL
        index = torch.from_numpy(source_names[number[kept] - 1]), torch.from_numpy(rank[kept])
        table[index] = torch.from_numpy(target_names[word[kept]])
        counts = np.bincount(np.concatenate([np.asarray(item, dtype=np.int64) for item in targets]))
        commonest = np.argsort(-counts, kind="stable")[:common]
        return cls(torch.tensor(sorted({*range(SPECIAL), *commonest[counts[commonest] > 0].tolist()})), table)


class ShortlistedMemory(NamedTuple):
    """What a model has read, with the rows of its output matrix that the batch may need."""

    memory: Any
    words: Int[Tensor, " words"]
    """The tokens that are predicted, ascending."""
    output: nn.Module
    """The output matrix of these words."""

    @property
    def rows(self) -> int:
        """How many sentences."""
        rows: int = self.memory.rows
        return rows

    def select(self, rows: Int[Tensor, " chosen"]) -> "ShortlistedMemory":
        """Take these sentences, in this order. The words stay: they were made for all of them."""
        return self._replace(memory=self.memory.select(rows))


class PredictsFromFeatures(Protocol):
    """A generating model whose last layer is a matrix."""

    output: Any

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None) -> Any:
        """Read the source."""

    def start(self, memory: Any, *, capacity: int | None = None) -> Any:
        """Give the state before any token."""

    def step_features(self, tokens: Int[Tensor, "rows new"], state: Any, memory: Any, *, weights: bool = False) -> Any:
        """Read the next tokens up to the output matrix."""


def predicts_from_features(model: object) -> TypeGuard[PredictsFromFeatures]:
    """Return whether a model is one, whose `step` is the log-softmax of `output` over what `step_features` gives.

    The class that defines both says so, as `softmax_of_features = True`. A subclass or an object that has one of them
    anew may predict otherwise, and so may a wrapper around a model.
    """
    names, kinds = ("step", "step_features"), type(model).__mro__
    owners = {next((kind for kind in kinds if name in vars(kind)), None) for name in names}
    stated = [vars(owner).get("softmax_of_features", False) for owner in owners if owner is not None]
    return len(owners) == 1 and stated == [True] and not vars(model).keys() & names


class Shortlisted:
    """A model that predicts the words of a shortlist alone; a `GeneratingModel` itself, for `decode`.

    The log-probabilities are those among the words of the list. `decode` gives tokens of the whole vocabulary, but
    rules that name tokens, a prefix or `no_repeat_ngram`, need the model itself.
    """

    def __init__(self, model: AnyModel, shortlist: Shortlist) -> None:
        if not predicts_from_features(model):
            raise ArgumentError(
                f"`model` must be a network with an output matrix; received {type(model).__name__}, for which a "
                "shortlist has no use."
            )
        self.model, self.shortlist = model, shortlist

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None
    ) -> ShortlistedMemory:
        """Read the source, and take the rows of the output matrix that it may need."""
        words = self.shortlist.words(source.cpu()).to(source.device)
        return ShortlistedMemory(self.model.encode(source, lengths), words, _OutputRows(self.model.output, words))

    def start(self, memory: ShortlistedMemory, *, capacity: int | None = None) -> Any:
        """Give the state before any token."""
        return self.model.start(memory.memory, capacity=capacity)

    def step(
        self, tokens: Int[Tensor, "rows new"], state: Any, memory: ShortlistedMemory, *, weights: bool = False
    ) -> Stepped[Any]:
        """Read the next tokens, and predict which words of the list follow."""
        features, state, attended = self.model.step_features(tokens, state, memory.memory, weights=weights)
        return log_probabilities(memory.output(features)), state, attended


class _OutputRows(nn.Module):
    """Some rows of an output matrix."""

    def __init__(self, output: nn.Linear | Int8Linear, words: Tensor) -> None:
        super().__init__()
        self.int8 = output.rows(words) if isinstance(output, Int8Linear) else None
        if not isinstance(output, Int8Linear):
            self.weight = output.weight[words]
            self.bias = None if output.bias is None else output.bias[words]

    def forward(self, features: Float[Tensor, "*batch size"]) -> Float[Tensor, "*batch words"]:
        """Multiply."""
        if self.int8 is None:
            return F.linear(features.to(self.weight.dtype), self.weight, self.bias)
        result: Tensor = self.int8(features)
        return result
