"""One step of decoding with what came before it in a cache: time by position, for rows with much room and for a beam.

    OMP_NUM_THREADS=1 python benchmarks/decoding_step.py [--rounds 15] [--vocabulary 8000]

A step should cost the same wherever it stands, but for attention itself. "4 rows" have room for 2,048 tokens from the
start; "64 × 5" are 64 sentences with five hypotheses each, whose room grows, and the last column also re-orders them,
as beam search does after every step. Medians of processor time, which other programs on the machine disturb least.
"""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from regard.config.attention import AdditiveSpec
from regard.config.model import ModelSpec, RecurrentSpec, TransformerSpec
from regard.models import Model, build_model

POSITIONS = (10, 100, 500)
SOURCE_LENGTH = 20
CHUNK = 50  # tokens heard at once on the way to a position

TRANSFORMER = {"size": 128, "num_encoder_layers": 4, "num_decoder_layers": 4, "num_heads": 4, "feed_forward_size": 256}
MODELS: dict[str, ModelSpec] = {
    "Transformer, sinusoidal": TransformerSpec(**TRANSFORMER, position="sinusoidal"),
    "Transformer, rotary": TransformerSpec(**TRANSFORMER, position="rotary"),
    "Transformer, relative": TransformerSpec(**TRANSFORMER, position="relative"),
    "Bahdanau": RecurrentSpec(
        cell="gru", direction="both", embedding_size=256, hidden_size=256, attention=AdditiveSpec(), wiring="previous"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--vocabulary", type=int, default=8000)
    options = parser.parse_args()
    torch.manual_seed(7)
    columns = [f"position {position}" for position in POSITIONS]
    print(f"| model | rows | {' | '.join(columns)} | {POSITIONS[1]}, re-ordered |")
    print(f"| --- | --- | {'---: | ' * (len(POSITIONS) + 1)}")
    for name, spec in MODELS.items():
        model = build_model(spec, source_vocabulary=options.vocabulary, target_vocabulary=options.vocabulary).eval()
        for label, sentences, hypotheses, capacity in (("4", 4, 1, 2048), ("64 × 5", 64, 5, None)):
            times = run(model, sentences, hypotheses, capacity, options.rounds)
            print(f"| {name} | {label} | {' | '.join(f'{one:.2f} ms' for one in times)} |", flush=True)


@torch.no_grad()
def run(model: Model, sentences: int, hypotheses: int, capacity: int | None, rounds: int) -> list[float]:
    """Give the milliseconds of one step at each position, and of one with re-ordering."""
    vocabulary = model.output.out_features
    source = torch.randint(4, vocabulary, (sentences, SOURCE_LENGTH))
    lengths = torch.randint(SOURCE_LENGTH // 2, SOURCE_LENGTH + 1, (sentences,))
    lengths[0] = SOURCE_LENGTH
    memory = model.encode(source, lengths)
    state = model.start(memory, capacity=capacity)
    many = torch.arange(sentences).repeat_interleave(hypotheses)
    moved = many * hypotheses + torch.randint(0, hypotheses, many.shape)
    tokens = torch.randint(4, vocabulary, (sentences * hypotheses, 1))
    times, heard = [], 0
    for position in POSITIONS:
        for start in range(heard, position, CHUNK):
            words = torch.randint(4, vocabulary, (sentences, min(CHUNK, position - start)))
            state = model.step(words, state, memory)[1]
        heard = position
        beam = Steps(model, tokens, state.select(many), memory)
        times.append(median(beam.step, rounds))
        if position == POSITIONS[1]:
            beam.rows = moved
            reordered = median(beam.step, rounds)
    return [*times, reordered]


class Steps:
    """Takes one step after the other, so that whatever a first step has to do is done once."""

    def __init__(self, model: Model, tokens: Tensor, state: object, memory: object) -> None:
        self.model, self.tokens, self.state, self.memory = model, tokens, state, memory
        self.rows: Tensor | None = None

    def step(self) -> None:
        if self.rows is not None:
            self.state = self.state.select(self.rows)  # type: ignore[attr-defined]
        _, self.state, _ = self.model.step(self.tokens, self.state, self.memory)  # type: ignore[arg-type]


def median(work: Callable[[], None], rounds: int) -> float:
    work()
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return sorted(taken)[len(taken) // 2] * 1e3


if __name__ == "__main__":
    main()
