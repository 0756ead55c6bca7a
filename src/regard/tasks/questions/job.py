"""What the loop needs to know of questions about pictures: batches, the loss, and the validation."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.config.train import PictureTrain
from regard.data.batches.ragged import Ragged
from regard.data.scenes.batches import QuestionBatch, QuestionBatches
from regard.data.scenes.sides import QuestionSide
from regard.data.text.tokenizer import Tokenizer
from regard.evaluation.questions import AnswerScores, score_answers
from regard.tasks.classification.model import cut_texts
from regard.training.group import Group
from regard.training.loss import Loss, smoothed_cross_entropy
from regard.training.watch import Validated

UNSEEN = -1
"""Stands for an answer that was never trained on, and can only be got wrong."""
AT_ONCE = 128
"""Pictures that are measured at once."""


class EncodedQuestions:
    """One side as numbers, its pictures on the device that reads them."""

    def __init__(
        self,
        side: QuestionSide,
        tokenizer: Tokenizer,
        answers: Sequence[str],
        *,
        max_length: int,
        device: torch.device,
    ) -> None:
        self.side = side
        self.pixels: Tensor = torch.from_numpy(side.pictures).to(device)
        self.texts: Ragged = cut_texts(tokenizer.encode_batch(item.text for item in side.questions), max_length)
        numbers = {answer: number for number, answer in enumerate(answers)}
        self.owners = [item.picture for item in side.questions]
        self.answers = [numbers.get(item.answer, UNSEEN) for item in side.questions]

    def image(self, pictures: Tensor) -> Tensor:
        """Give pictures with colors from 0 to 1."""
        return self.pixels[pictures].float() / 255


class QuestionJob:
    """Train on some pictures, validate on others."""

    uncaptured = "batches have many shapes"

    def __init__(
        self,
        train: EncodedQuestions,
        valid: EncodedQuestions,
        answers: Sequence[str],
        settings: PictureTrain,
        *,
        group: Group,
    ) -> None:
        self.settings, self.group, self.train, self.valid = settings, group, train, valid
        self.answers, self.at_once = tuple(answers), AT_ONCE
        self.batches = QuestionBatches(
            train.owners,
            train.texts,
            train.answers,
            size=settings.batch_size,
            seed=settings.seed,
            rank=group.rank,
            ranks=group.ranks,
        )

    def loss(self, model: nn.Module, batch: QuestionBatch) -> Loss:
        """Sum the cross-entropy over the questions."""
        result = model(self.train.image(batch.pictures), batch.tokens, batch.lengths, batch.owners)
        smoothing = self.settings.label_smoothing
        return smoothed_cross_entropy(result.logits, batch.answers, smoothing=smoothing, padding=UNSEEN)

    def validate(self, model: nn.Module) -> Validated:
        """Measure all held-out questions."""
        scores, loss = self.score(model, self.valid)
        return Validated(loss=loss, figures={"accuracy": scores.accuracy, **scores.by_kind})

    def score(self, model: nn.Module, side: EncodedQuestions) -> tuple[AnswerScores, float]:
        """Measure questions with known answers: shares right, and the cross-entropy of those that can be."""
        probabilities = predict_answers(model, side, device=self.group.device, at_once=self.at_once)
        chosen = [self.answers[number] for number in probabilities.argmax(1)]
        questions = side.side.questions
        scores = score_answers(chosen, [item.answer for item in questions], [item.kind for item in questions])
        gold = np.asarray(side.answers)
        known = np.flatnonzero(gold != UNSEEN)
        right = probabilities[known, gold[known]]
        return scores, float(-np.log(np.maximum(right, 1e-12)).mean()) if len(known) else 0.0


@torch.no_grad()
def predict_answers(
    model: nn.Module, side: EncodedQuestions, *, device: torch.device | str, at_once: int = AT_ONCE
) -> NDArray[np.float64]:
    """Give the probabilities of all answers to each question, in order."""
    batches = QuestionBatches(side.owners, side.texts, side.answers, size=at_once, shuffle=False)
    result = []
    for batch in batches:
        there = batch.to(device)
        logits = model(side.image(there.pictures), there.tokens, there.lengths, there.owners).logits
        result.append(logits.double().softmax(-1).cpu().numpy())
    return np.concatenate(result)
