"""What the loop needs to know of aligners: batches of token numbers, the loss, and the validation."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.batches.pairs import Batch, Batches
from regard.data.corpora.pair import Pair
from regard.data.corpora.streamed import Pairs
from regard.data.text.special import PAD
from regard.data.text.tokenizer import TokenizerPair
from regard.evaluation.alignment_error import AlignmentScores, alignment_error
from regard.models.alignment.mask_align import AlignerRead, MaskAligner
from regard.models.word_loss import WordLoss, word_loss
from regard.tasks.alignment.data import PlainTokens, plain_tokens
from regard.tasks.alignment.model import WordAligner
from regard.tasks.alignment.settings import AlignTrain
from regard.tasks.translation.encoding import TrainingFiles, encode_pairs, encode_training
from regard.training.group import Group
from regard.training.loss import Loss, agreement_loss, alignment_loss, even_entropy, gold_weights
from regard.training.watch import Validated


class AlignerScores(NamedTuple):
    """How good an aligner is."""

    cross_entropy: float
    """Of the words of both sides, each predicted from the other side and the other words; in nats a token."""
    agreement: float
    """Of the tokens that either direction links, the share that both do: 2 |A ∩ B| / (|A| + |B|)."""
    links: AlignmentScores | None
    """Against gold links, where there are any."""


class AlignmentJob:
    """Train on some pairs, validate on others."""

    def __init__(
        self,
        train: Pairs,
        valid: Sequence[Pair],
        tokenizers: TokenizerPair,
        settings: AlignTrain,
        *,
        group: Group,
        files: TrainingFiles | None = None,
    ) -> None:
        self.settings, self.tokenizers, self.group = settings, tokenizers, group
        self.valid = list(valid)
        captures = settings.graphs and settings.accumulate == 1
        self.batches = Batches(
            encode_training(train, tokenizers, settings, files=files, group=group),
            tokens=settings.batch_tokens,
            seed=settings.seed,
            rank=group.rank,
            ranks=group.ranks,
            few_shapes=captures and group.device.type == "cuda" and group.ranks == 1,
        )
        self.at_once = settings.batch_tokens
        """Tokens of the held-out pairs that are read at once."""

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        r"""Give the mean over the tokens of both directions' cross-entropy, and of what makes them agree.

        $$L = \frac{L_\to + L_\leftarrow}{2} + \alpha\, L_a + \beta\, (H_\to + H_\leftarrow) +
        \gamma\, \frac{G_\to + G_\leftarrow}{2}$$

        where $L_a$ is `agreement_loss` and $H$ `even_entropy`, as means over pairs of tokens, and $G$ is
        `alignment_loss`, as a mean over the tokens that have links; times the target tokens of the batch, since the
        loop divides by those.

        Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162; Garg et al. (2019), section 4.2,
        arXiv:1909.02074, for $G$ in one direction.
        """
        assert isinstance(model, MaskAligner)
        settings, tokens = self.settings, plain_tokens(batch)
        read = model(*tokens)
        words = _word_losses(model, read, tokens, smoothing=settings.label_smoothing)
        shares = [0.5 / (side != PAD).sum().clamp_min(1) for side in (tokens.target, tokens.source)]
        total = sum(share * item.total for share, item in zip(shares, words, strict=True))
        cross_entropy = sum(share * item.cross_entropy for share, item in zip(shares, words, strict=True))
        real = _real_cells(tokens)
        cells = real.sum().clamp_min(1)
        forward, backward = _attended(read)
        if settings.agreement:
            total = total + settings.agreement / cells * agreement_loss(forward, backward, real)
        if settings.entropy:
            both = even_entropy(forward, real, even=settings.even), even_entropy(backward, real.mT, even=settings.even)
            total = total + settings.entropy / cells * sum(both)
        if settings.guided_alignment:
            assert batch.links is not None
            links = batch.links[:, : forward.size(1), : forward.size(2)]  # without </s>
            total = total + settings.guided_alignment / 2 * (_guided(forward, links) + _guided(backward, links.mT))
        count = batch.target_lengths.sum()
        return Loss(total * count, cross_entropy * count)

    def validate(self, model: nn.Module) -> Validated:
        """Measure cross-entropy and agreement on all held-out pairs, and links against gold ones on the first."""
        scores = self.score(model, self.valid, most=self.settings.valid_sentences)
        figures = {"agreement": scores.agreement}
        if scores.links is not None:
            figures["error"] = scores.links.error
        return Validated(loss=scores.cross_entropy, figures=figures)

    @torch.no_grad()
    def score(self, model: nn.Module, pairs: Sequence[Pair], *, most: int | None = None) -> AlignerScores:
        """Measure a model on pairs, and the links of the first `most`, or of all, against gold ones."""
        assert isinstance(model, MaskAligner)
        loss, tokens, shared, linked = 0.0, 0, 0, 0
        for batch in self._held_out(pairs):
            plain = plain_tokens(batch.to(self.group.device))
            read = model(*plain)
            loss += sum(float(item.cross_entropy) for item in _word_losses(model, read, plain))
            tokens += sum(int((side != PAD).sum()) for side in (plain.target, plain.source))
            counts = _count_agreed(*_attended(read, nothing=True), _real_cells(plain))
            shared, linked = shared + counts[0], linked + counts[1]
        return AlignerScores(loss / max(tokens, 1), 2 * shared / max(linked, 1), self._links(model, pairs[:most]))

    def _links(self, model: MaskAligner, pairs: Sequence[Pair]) -> AlignmentScores | None:
        if not any(pair.links for pair in pairs):
            return None
        aligned = WordAligner(model, self.tokenizers).align(pairs, batch_tokens=self.at_once)
        return alignment_error([item.links for item in aligned], [pair.links for pair in pairs])

    def _held_out(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        return iter(Batches(encode_pairs(pairs, self.tokenizers), tokens=self.at_once, shuffle=False))


def _word_losses(
    model: MaskAligner, read: AlignerRead, tokens: PlainTokens, *, smoothing: float = 0.0
) -> tuple[WordLoss, WordLoss]:
    """Sum the cross-entropy of the target words and of the source words."""
    return (
        word_loss(read.to_target.features, model.to_target.output, tokens.target, smoothing=smoothing, padding=PAD),
        word_loss(read.to_source.features, model.to_source.output, tokens.source, smoothing=smoothing, padding=PAD),
    )


def _attended(read: AlignerRead, *, nothing: bool = False) -> tuple[Tensor, Tensor]:
    """Give the weights of both directions, the mean over the heads, with the column of nothing first or without it."""
    forward, backward = (item.weights.mean(1)[..., 0 if nothing else 1 :] for item in read)
    return forward, backward


def _guided(weights: Float[Tensor, "batch row column"], links: Bool[Tensor, "batch row column"]) -> Float[Tensor, ""]:
    """Give the mean cross-entropy of attention against links, over the rows that have some."""
    return alignment_loss(weights, gold_weights(links)) / links.any(-1).sum().clamp_min(1)


def _real_cells(tokens: PlainTokens) -> Bool[Tensor, "batch target source"]:
    return (tokens.target != PAD).unsqueeze(2) & (tokens.source != PAD).unsqueeze(1)


def _count_agreed(
    forward: Float[Tensor, "batch target nothing_and_source"],
    backward: Float[Tensor, "batch source nothing_and_target"],
    real: Bool[Tensor, "batch target source"],
) -> tuple[int, int]:
    """Count the links that both directions have, each to what it attends to most, and those of either, added up."""
    first, second = (_heaviest(item)[..., 1:] for item in (forward, backward))
    first, second = first & real, second.mT & real
    return int((first & second).sum()), int(first.sum() + second.sum())


def _heaviest(weights: Float[Tensor, "batch rows columns"]) -> Bool[Tensor, "batch rows columns"]:
    marks = torch.zeros_like(weights, dtype=torch.bool)
    return marks.scatter_(-1, weights.argmax(-1, keepdim=True), True)
