"""What the loop needs to know of captions: batches, the loss, and the validation."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.data.batches.ragged import Ragged
from regard.data.scenes.batches import CaptionBatch, CaptionBatches
from regard.data.scenes.sides import CaptionSide
from regard.data.text.special import END, PAD, START
from regard.data.text.tokenizer import Tokenizer
from regard.decoding import Search, decode
from regard.evaluation.bleu import score
from regard.models.vision.captions import CaptionModel, as_source
from regard.tasks.captions.settings import CaptionTrain
from regard.tasks.classification.model import cut_texts
from regard.training.group import Group
from regard.training.loss import Loss, smoothed_cross_entropy
from regard.training.watch import Validated

AT_ONCE = 128
"""Pictures that are described at once."""


class CaptionScores(NamedTuple):
    """How good captions are."""

    exact: float
    """Share that equals its caption, word for word."""
    bleu: float
    answers: float | None = None
    """The same share of the answers alone, where there are any."""


class EncodedCaptions:
    """One side as numbers, its pictures on the device that reads them."""

    def __init__(self, side: CaptionSide, tokenizer: Tokenizer, *, max_length: int, device: torch.device) -> None:
        self.side, self.tokenizer, self.max_length = side, tokenizer, max_length
        self.pixels: Tensor = torch.from_numpy(side.pictures).to(device)
        self.prompts = [tokens[: max_length - 1] for tokens in encode_prompts(tokenizer, side.prompts)]
        captions = tokenizer.encode_batch(side.captions)
        texts = [[*prompt, *captions[index].tolist()] for index, prompt in enumerate(self.prompts)]
        self.texts: Ragged = cut_texts(Ragged.from_lists(texts), max_length)

    def image(self, pictures: Tensor) -> Tensor:
        """Give pictures with colors from 0 to 1."""
        return self.pixels[pictures].float() / 255

    def batches(self, *, size: int, seed: int = 0, shuffle: bool = True, group: Group | None = None) -> CaptionBatches:
        """Give batches of so many texts; of a group each member has its part."""
        rank, ranks = (group.rank, group.ranks) if group else (0, 1)
        lengths = [len(tokens) for tokens in self.prompts]
        return CaptionBatches(
            self.texts,
            owners=self.side.owners,
            prompts=lengths,
            size=size,
            seed=seed,
            shuffle=shuffle,
            rank=rank,
            ranks=ranks,
        )


class CaptionJob:
    """Train on some pictures, validate on others."""

    uncaptured = "batches have many shapes"

    def __init__(self, train: EncodedCaptions, valid: EncodedCaptions, settings: CaptionTrain, *, group: Group) -> None:
        self.settings, self.group, self.train, self.valid = settings, group, train, valid
        self.at_once = AT_ONCE
        self.batches = train.batches(size=settings.batch_size, seed=settings.seed, group=group)

    def loss(self, model: nn.Module, batch: CaptionBatch) -> Loss:
        """Sum the cross-entropy over the words."""
        logits = model(self.train.image(batch.indices), batch.target_input)
        smoothing = self.settings.label_smoothing
        return smoothed_cross_entropy(logits, batch.target_output, smoothing=smoothing, padding=PAD)

    def validate(self, model: nn.Module) -> Validated:
        """Measure the loss on all held-out captions, and generate some of them."""
        total, tokens = 0.0, 0
        for batch in self.valid.batches(size=self.at_once, shuffle=False):
            there = batch.to(self.group.device)
            logits = model(self.valid.image(there.indices), there.target_input)
            total += float(smoothed_cross_entropy(logits, there.target_output, padding=PAD).cross_entropy)
            tokens += batch.num_tokens
        scores = self.score(model, self.valid, most=self.settings.valid_sentences)
        return Validated(loss=total / max(1, tokens), figures={"exact": scores.exact, "bleu": scores.bleu})

    def score(self, model: nn.Module, side: EncodedCaptions, *, most: int | None = None) -> CaptionScores:
        """Describe pictures greedily, and compare with their captions."""
        assert isinstance(model, CaptionModel)
        output = describe(model, side, most=most, at_once=self.at_once)
        gold = [side.tokenizer.normalize(item) for item in side.side.captions[: len(output)]]
        right = [item == true for item, true in zip(output, gold, strict=True)]
        answers = [item for item, prompt in zip(right, side.prompts, strict=False) if prompt]
        return CaptionScores(
            sum(right) / max(1, len(right)), score(output, gold).bleu, sum(answers) / len(answers) if answers else None
        )


@torch.no_grad()
def describe(
    model: CaptionModel, side: EncodedCaptions, *, most: int | None = None, at_once: int = AT_ONCE
) -> list[str]:
    """Give the first texts of a side, or all, as the model generates them: descriptions, and answers to questions."""
    texts: list[str] = []
    search = Search(beam=1, max_length=side.max_length + 1)
    for start in range(0, len(side.side) if most is None else min(most, len(side.side)), at_once):
        rows = slice(start, start + at_once)
        pixels, prompts = side.pixels[list(side.side.owners[rows])], side.prompts[rows]
        results = decode(model, as_source(pixels), search=search, start=START, end=END, prefix=prompts)
        texts += [
            side.tokenizer.decode(best.tokens[len(prompt) :])
            for (best, *_), prompt in zip(results, prompts, strict=True)
        ]
    return texts[:most]


def encode_prompts(tokenizer: Tokenizer, prompts: Sequence[str]) -> list[list[int]]:
    """Give the tokens of questions, none for an empty one."""
    encoded = tokenizer.encode_batch(prompts)
    return [encoded[index].tolist() for index in range(len(prompts))]
