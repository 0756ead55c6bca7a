"""Decoding beside `generate` of transformers: the same sizes, the same batches, outputs of the same lengths.

The models have random parameters, so the outputs mean nothing and their lengths are forced: every output is as long as
the longest source of its batch. That favors nobody, but hides what is won where outputs end early.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config.model import TransformerSpec
from regard.data.batches.bucketing import make_index_batches
from regard.data.text.special import END, PAD, SPECIAL_TOKENS, START
from regard.decoding.captured import Captured
from regard.decoding.search import Search, decode
from regard.decoding.shortlist import COMMON, EACH, Shortlist, Shortlisted
from regard.models.precision import Precision, in_precision
from regard.models.sequence.build import build_model
from regard.models.sequence.protocol import AnyModel
from regard.tasks.translation.searcher import BATCH_TOKENS

NEVER = -10_000.0
"""Added to the logit of `</s>`: outputs end at their longest length."""
Batch = tuple[Tensor, Tensor]
Contender = Callable[[Sequence[Batch]], None]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model and the sentences it reads."""

    name: str
    spec: TransformerSpec
    vocabulary: int
    mean_length: int
    """Tokens of a source in the mean; a third of it is the standard deviation."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one contender reached; the ratio is against `transformers`, or the first."""

    case: str
    beam: int
    contender: str
    sentences_per_second: float
    words_per_second: float
    """Source tokens, `</s>` left out."""
    ratio: float


def _spec(decoder_layers: int, feed_forward_size: int) -> TransformerSpec:
    return TransformerSpec(
        size=256,
        num_encoder_layers=6,
        num_decoder_layers=decoder_layers,
        num_heads=8,
        feed_forward_size=feed_forward_size,
        tie="all",
        dropout=0.0,
    )


CASES = {
    "short": Case(name="short", spec=_spec(6, 1024), vocabulary=16_000, mean_length=9),
    "tiny": Case(name="tiny", spec=_spec(2, 1536), vocabulary=32_000, mean_length=25),
}
"""Sentences as short as Tatoeba's, and the size of Firefox's `tiny` translators with sentences of the usual length."""


def run(
    case: Case,
    *,
    device: torch.device,
    precision: Precision = "float32",
    beams: Sequence[int] = (1, 5),
    sentences: int = 1000,
    rounds: int = 3,
    shortlist: bool = False,
    peers: bool = True,
) -> Iterator[Row]:
    """Measure every contender, greedy and with a beam."""
    torch.manual_seed(0)
    sources = draw_sources(case, sentences)
    model = build_model(case.spec, source_vocabulary=case.vocabulary, target_vocabulary=case.vocabulary)
    with torch.no_grad():
        model.output.bias[END] = NEVER
    model = in_precision(model.eval().to(device), precision)
    for beam in beams:
        batches = list(make_batches(sources, BATCH_TOKENS[device.type] // beam, device))
        contenders: dict[str, Contender] = {}
        peer = _transformers(case, beam, device, precision) if peers else None
        if peer is not None:
            contenders["transformers, float32" if precision == "int8" else "transformers"] = peer
        if device.type == "cuda":
            contenders |= {"regard": _ours(Captured(model), beam), "regard, step by step": _ours(model, beam)}
        else:
            contenders["regard"] = _ours(model, beam)
            if shortlist:
                contenders["regard, shortlist"] = _ours(Shortlisted(model, draw_shortlist(case)), beam)
        times = {name: _best_seconds(work, batches, device, rounds) for name, work in contenders.items()}
        words = sum(len(source) - 1 for source in sources)
        base = next(iter(times.values()))
        for name, seconds in times.items():
            yield Row(
                case=case.name,
                beam=beam,
                contender=name,
                sentences_per_second=len(sources) / seconds,
                words_per_second=words / seconds,
                ratio=base / seconds,
            )


def draw_sources(case: Case, sentences: int) -> list[list[int]]:
    """Draw sources of many lengths, of tokens as frequent as words are: the r-th with a probability of about 1/r."""
    generator = np.random.default_rng(0)
    lengths = generator.normal(case.mean_length, case.mean_length / 3, sentences).round().clip(2, 4 * case.mean_length)
    first = len(SPECIAL_TOKENS)
    ranks = ((case.vocabulary - first) ** generator.random(int(lengths.sum()))).astype(np.int64)
    ends = np.cumsum(lengths).astype(np.int64)
    return [[*part.tolist(), END] for part in np.split(ranks - 1 + first, ends[:-1])]


def draw_shortlist(case: Case) -> Shortlist:
    """Draw a shortlist as long as learned ones: the commonest tokens, and for each source token some as frequent."""
    generator = torch.Generator().manual_seed(0)
    table = (case.vocabulary - 1) ** torch.rand(case.vocabulary, EACH, generator=generator)
    return Shortlist(torch.arange(COMMON + len(SPECIAL_TOKENS)), table.long())


def make_batches(sources: Sequence[Sequence[int]], tokens: int, device: torch.device) -> Iterator[Batch]:
    """Put sources of like length together, at most so many tokens, padding included."""
    lengths = np.array([len(source) for source in sources])
    for indices in make_index_batches(lengths, lengths, tokens=tokens, shuffle=False):
        longest = int(lengths[indices].max())
        rows = [[*sources[index], *[PAD] * (longest - len(sources[index]))] for index in indices.tolist()]
        yield torch.tensor(rows, device=device), torch.from_numpy(lengths[indices]).to(device)


def _ours(model: AnyModel, beam: int) -> Contender:
    search = Search(beam=beam)

    def work(batches: Sequence[Batch]) -> None:
        with torch.inference_mode():
            for source, lengths in batches:
                decode(model, source, lengths, search=replace(search, max_length=source.size(1)), start=START, end=END)

    return work


def _transformers(case: Case, beam: int, device: torch.device, precision: Precision) -> Contender | None:
    """Build Marian's model of transformers in the same size; None where transformers is not installed."""
    try:
        from transformers import MarianConfig, MarianMTModel
    except ImportError:
        return None
    spec = case.spec
    config = MarianConfig(
        vocab_size=case.vocabulary,
        d_model=spec.size,
        encoder_layers=spec.num_encoder_layers,
        decoder_layers=spec.num_decoder_layers,
        encoder_attention_heads=spec.num_heads,
        decoder_attention_heads=spec.num_heads,
        encoder_ffn_dim=spec.feed_forward_size,
        decoder_ffn_dim=spec.feed_forward_size,
        pad_token_id=PAD,
        eos_token_id=END,
        forced_eos_token_id=None,
        decoder_start_token_id=START,
        max_position_embeddings=512,
    )
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    model: Any = MarianMTModel(config)
    model.eval().to(device=device, dtype=dtype)
    model.final_logits_bias[:, END] = NEVER

    def work(batches: Sequence[Batch]) -> None:
        with torch.inference_mode():
            for source, lengths in batches:
                longest = source.size(1)
                inside = torch.arange(longest, device=device) < lengths.unsqueeze(1)
                model.generate(
                    input_ids=source,
                    attention_mask=inside.long(),
                    num_beams=beam,
                    do_sample=False,
                    max_new_tokens=longest,
                )

    return work


def _best_seconds(work: Contender, batches: Sequence[Batch], device: torch.device, rounds: int) -> float:
    """Run once to warm up, and give the shortest time of the rounds."""
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        work(batches)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - begin)
    return min(times[1:])
