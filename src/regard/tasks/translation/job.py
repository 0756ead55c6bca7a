"""What the loop needs to know of translation: batches of token numbers, the loss, and the validation."""

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import nn

from regard.data.batches.pairs import Batch, Batches, Examples
from regard.data.corpora.pair import Pair
from regard.data.corpora.streamed import Pairs
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.evaluation.bleu import score
from regard.evaluation.scoring import Scoring, suited_scoring
from regard.inspection.readings.alignment import PLAIN, Reading
from regard.models.sequence.build import Model
from regard.models.word_loss import word_loss
from regard.tasks.translation.encoding import TrainingFiles, encode_pairs, encode_portions, encode_training
from regard.tasks.translation.model import Translator
from regard.tasks.translation.samples import make_samples
from regard.tasks.translation.settings import TranslationTrain
from regard.training.group import Group
from regard.training.loss import Loss, alignment_loss, gold_weights
from regard.training.watch import Validated


class TranslationJob:
    """Train on some pairs, validate on others."""

    def __init__(
        self,
        train: Pairs,
        valid: Sequence[Pair],
        tokenizers: TokenizerPair,
        settings: TranslationTrain,
        *,
        group: Group,
        files: TrainingFiles | None = None,
    ) -> None:
        self.settings, self.tokenizers, self.group = settings, tokenizers, group
        self.valid = list(valid)
        captures = settings.graphs and settings.accumulate == 1
        self.scoring = scoring_for(self.valid, tokenizers, settings)
        self.batches = Batches(
            encode_training(train, tokenizers, settings, files=files, group=group),
            tokens=settings.batch_tokens,
            seed=settings.seed,
            rank=group.rank,
            ranks=group.ranks,
            few_shapes=captures and group.device.type == "cuda" and group.ranks == 1,
        )
        self._held_out = encode_pairs(valid, tokenizers)
        self._translator: Translator | None = None
        self.at_once = settings.batch_tokens
        """Tokens of the held-out pairs that are read, or translated, at once."""

    def longest(self) -> tuple[int, int]:
        """Give the most tokens, `</s>` included, of any source and any target in the epoch at hand."""
        sides = zip(self.batches.longest(), self._held_out_batches().longest(), strict=True)
        source, target = (max(both) for both in sides)
        return source, target

    def untrained(self, train: Pairs) -> Untrained:
        """List the tokens of each side that the pairs to train on do not have.

        With BPE-dropout an epoch lacks pieces that another has, so whole pieces count too.
        """
        corpora: Iterator[Examples] = iter([self.batches.examples()])
        if self.settings.bpe_dropout:
            corpora = chain(corpora, encode_portions(train, self.tokenizers))
        return Untrained.of_corpora(corpora, self.tokenizers)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Sum smoothed cross-entropy, and what the switches add, over the target tokens."""
        assert isinstance(model, Model)
        return translation_loss(model, batch, self.settings)

    def validate(self, model: nn.Module) -> Validated:
        """Measure cross-entropy on all held-out pairs, BLEU and chrF on the first of them."""
        assert isinstance(model, Model)
        loss = self.cross_entropy(model)
        pairs = self.valid[: self.settings.valid_sentences]
        hypotheses = self.translate(model, [pair.source for pair in pairs])
        figures = score(hypotheses, [pair.target for pair in pairs], self.scoring)
        reading = Reading(head=GUIDED_HEAD) if self.settings.guided_alignment else PLAIN
        shown = pairs[: self.settings.samples]
        samples = make_samples(model, self.tokenizers, shown, reading=reading, device=self.group.device)
        return Validated(loss=loss, figures={"bleu": figures.bleu, "chrf": figures.chrf}, samples=samples)

    def translate(self, model: Model, texts: Sequence[str]) -> list[str]:
        """Translate greedily, as words are spelled, `<unk>` and all."""
        if self._translator is None or self._translator.model is not model:
            self._translator = Translator(model, self.tokenizers, unknown="keep", respell=False).step_by_step()
        result = self._translator.search(texts, Search(beam=1), batch_tokens=self.at_once)
        return [outputs[0].text for outputs in result]

    @torch.no_grad()
    def cross_entropy(self, model: Model) -> float:
        """Give the mean over the target tokens of the held-out pairs, in nats."""
        total, tokens = 0.0, 0
        for batch in self._held_out_batches():
            batch = batch.to(self.group.device)
            read = model.read(batch.source, batch.source_lengths, batch.target_input)
            total += float(word_loss(read.features, model.output, batch.target_output).cross_entropy)
            tokens += batch.num_tokens
        return total / tokens

    def _held_out_batches(self) -> Batches:
        return Batches(self._held_out, tokens=self.at_once, shuffle=False)


GUIDED_HEAD = 0
"""The head that word links are for, which `Translator.reading` reads alignments from."""


def translation_loss(model: Model, batch: Batch, settings: TranslationTrain) -> Loss:
    """Sum smoothed cross-entropy, and what the switches add, over the target tokens."""
    if settings.r_drop:
        batch = _twice(batch)
    read = model.read(batch.source, batch.source_lengths, batch.target_input, weights=settings.guided_alignment > 0)
    words = word_loss(
        read.features,
        model.output,
        batch.target_output,
        smoothing=settings.label_smoothing,
        r_drop=settings.r_drop,
    )
    share = 0.5 if settings.r_drop else 1.0  # the batch is there twice
    result = Loss(share * words.total, share * words.cross_entropy)
    if settings.guided_alignment:
        # One head of the last layer but one: Garg et al. (2019), section 4.2, arXiv:1909.02074.
        if read.weights is None:
            raise ArgumentError(
                "`train.guided_alignment` must be 0 for a model without attention; received "
                f"{settings.guided_alignment:g}."
            )
        attended = read.weights[:, max(0, read.weights.size(1) - 2), GUIDED_HEAD]
        assert batch.links is not None
        guided = alignment_loss(attended, gold_weights(batch.links)) * share
        result = result._replace(total=result.total + settings.guided_alignment * guided)
    return result


def scoring_for(valid: Sequence[Pair], tokenizers: TokenizerPair, settings: TranslationTrain) -> Scoring:
    """Give how the translations of a run are scored: as chosen, or as suits the validation pairs and the vocabulary."""
    return suited_scoring(
        [pair.target for pair in valid],
        tokenize=settings.tokenize,
        case=settings.case,
        lower=tokenizers.target.lowercases,
    )


def _twice(batch: Batch) -> Batch:
    """Repeat a batch, so that one pass sees it under two draws of dropout."""
    rows = torch.arange(len(batch.indices), device=batch.indices.device).repeat(2)
    return Batch(
        batch.source[rows],
        batch.source_lengths[rows],
        batch.target_input[rows],
        batch.target_output[rows],
        batch.target_lengths[rows],
        batch.indices[rows],
        None if batch.links is None else batch.links[rows],
    )
