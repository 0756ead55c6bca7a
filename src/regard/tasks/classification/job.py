"""What the loop needs to know of classification: batches of texts, the loss, and the validation."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.config.train import TokenTrain
from regard.data.batches.bucketing import make_index_batches, share_batches
from regard.data.batches.epochs import Epochs
from regard.data.batches.pairs import Batch
from regard.data.batches.ragged import Ragged
from regard.data.text.special import PAD
from regard.evaluation.classification import ClassificationScores, score_labels
from regard.models.classification import Classified, Network, TfIdfClassifier
from regard.training.group import Group
from regard.training.loss import Loss, smoothed_cross_entropy
from regard.training.watch import Validated

AnyClassifier = Network | TfIdfClassifier
NO_LABEL = -1


class LabeledBatches(Epochs[Batch]):
    """Texts of like length, one epoch after another, as `regard.data.batches.pairs.Batches` gives pairs.

    A label is a target of one position, so that a batch counts its texts where one of sentences counts target tokens.
    """

    def __init__(
        self,
        texts: Ragged,
        labels: Sequence[int],
        *,
        tokens: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        self._texts, self._labels = texts, np.asarray(labels, dtype=np.int64)
        self._tokens, self._seed, self._shuffle, self._rank, self._ranks = tokens, seed, shuffle, rank, ranks

    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> Batch:
        """Gather these texts."""
        return make_labeled_batch(self._texts, self._labels, indices)

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Give the texts of each batch that this process takes."""
        lengths = np.maximum(self._texts.lengths, 1)
        batches = make_index_batches(
            lengths, np.ones_like(lengths), tokens=self._tokens, seed=self._seed, epoch=epoch, shuffle=self._shuffle
        )
        return share_batches(batches, rank=self._rank, ranks=self._ranks)


class ClassificationJob:
    """Train on some texts, validate on others."""

    uncaptured = "batches of texts have many shapes"

    def __init__(
        self, train: tuple[Ragged, list[int]], valid: tuple[Ragged, list[int]], settings: TokenTrain, *, group: Group
    ) -> None:
        self.settings, self.group, self.valid = settings, group, valid
        self.at_once = settings.batch_tokens
        """Tokens of the held-out texts that are read at once."""
        self.batches = LabeledBatches(
            *train, tokens=settings.batch_tokens, seed=settings.seed, rank=group.rank, ranks=group.ranks
        )

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Sum the cross-entropy over the texts, and what the summary's penalty adds."""
        result = model(batch.source, batch.source_lengths)
        assert isinstance(result, Classified)
        smoothing = self.settings.label_smoothing
        loss = smoothed_cross_entropy(result.logits, batch.target_output[:, 0], smoothing=smoothing, padding=NO_LABEL)
        return loss if result.penalty is None else loss._replace(total=loss.total + result.penalty.sum())

    def validate(self, model: nn.Module) -> Validated:
        """Measure all held-out texts."""
        scores = self.score(model, *self.valid)
        figures = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1, "calibration": scores.calibration_error}
        return Validated(loss=scores.cross_entropy, figures=figures)

    def score(self, model: nn.Module, texts: Ragged, labels: Sequence[int]) -> ClassificationScores:
        """Measure texts with known labels."""
        return score_labels(predict(model, texts, tokens=self.at_once, device=self.group.device), labels)


@torch.no_grad()
def predict(model: nn.Module, texts: Ragged, *, tokens: int, device: torch.device | str = "cpu") -> NDArray[np.float64]:
    """Give the probabilities of all labels for each text, in order."""
    result: list[tuple[NDArray[np.int64], Tensor]] = []
    for batch in LabeledBatches(texts, [NO_LABEL] * len(texts), tokens=tokens, shuffle=False):
        logits = model(batch.source.to(device), batch.source_lengths).logits
        result.append((batch.indices.numpy(), logits.double().softmax(-1).cpu()))
    probabilities = np.zeros((len(texts), result[0][1].size(1) if result else 0))
    for indices, rows in result:
        probabilities[indices] = rows.numpy()
    return probabilities


def make_labeled_batch(texts: Ragged, labels: NDArray[np.int64], indices: NDArray[np.int64]) -> Batch:
    """Pad the texts `indices` into one batch.

    >>> batch = make_labeled_batch(Ragged.from_lists([[5, 6], [7]]), np.array([1, 0]), np.array([0, 1]))
    >>> batch.source.tolist(), batch.target_output.tolist(), batch.num_tokens
    ([[5, 6], [7, 0]], [[1], [0]], 2)
    """
    lengths = texts.offsets[indices + 1] - texts.offsets[indices]
    rows = np.full((len(indices), max(1, int(lengths.max(initial=0)))), PAD, dtype=np.int64)
    for row, index in enumerate(indices):
        rows[row, : lengths[row]] = texts[int(index)]
    target = torch.from_numpy(labels[indices]).unsqueeze(1)
    ones = torch.ones(len(indices), dtype=torch.int64)
    return Batch(
        torch.from_numpy(rows),
        torch.from_numpy(lengths),
        torch.zeros_like(target),
        target,
        ones,
        torch.from_numpy(np.array(indices, dtype=np.int64)),
    )
