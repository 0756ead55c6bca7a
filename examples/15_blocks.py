"""Blocks: recurrent and Transformer, what goes in and out of them, and decoding with a cache.

Nothing is trained here: parameters are drawn at random, and the picture is about shapes, padding and sameness.
"""

# %% Three sentences of unequal length, padded to one. Embeddings are random.
import argparse
from pathlib import Path

import torch

from regard import Causal, Padding
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import MUTED, PALETTE, panels
from regard.layers import (
    AdditiveAttention,
    ConditionalGRU,
    FeedForward,
    InputFeedingCell,
    LuongAttention,
    MultiHeadAttention,
    Readout,
    RecurrentEncoder,
    RotaryPositions,
    TransformerDecoderBlock,
    TransformerEncoderBlock,
)

torch.manual_seed(0)
size, vocabulary_size = 16, 100
lengths = torch.tensor([7, 5, 3])
source = torch.randn(3, 7, size)

# %% A recurrent encoder reads each sentence up to its end: what stands in the padding changes nothing.
encoder = RecurrentEncoder("lstm", size, size // 2, bidirectional=True)
encoded = encoder(source, lengths)
alone = encoder(source[1:2, :5])
print(f"states {tuple(encoded.memory.shape)}, last state {tuple(encoded.state.shape)}")
print(f"second sentence, alone and padded: difference {(encoded.memory[1:2, :5] - alone.memory).abs().max():.1e}")

# %% Bahdanau's decoder, one step: ask with the state, then move on with what came back.
additive = AdditiveAttention(size, size, hidden_size=size)
gru = ConditionalGRU(input_size=size, state_size=size, context_size=size)
readout = Readout("maxout", vocabulary_size, state_size=size, embedding_size=size, context_size=size, hidden_size=size)
memory = additive.remember(encoded.memory, mask=Padding(lengths))
state, embedding = encoded.state[:, 0], torch.randn(3, size)
context = additive(state[:, None], memory)[:, 0]
logits = readout(state, embedding, context)
state = gru(embedding, state, context)
print(f"Bahdanau: context {tuple(context.shape)}, state {tuple(state.shape)}, logits {tuple(logits.shape)}")

# %% Luong's, one step: what attention decided is part of the next step's input.
cell = InputFeedingCell(LuongAttention(size, size), "lstm", embedding_size=size, state_size=size)
fed = cell(
    embedding, cell.start(encoded.state, encoded.cell), cell.attention.remember(encoded.memory), return_weights=True
)
print(f"Luong: attentional vector {tuple(fed.vector.shape)}, weights {tuple(fed.weights.shape)}")


# %% A Transformer: any attention fits into a block. Here multi-head attention with rotary positions.
def look() -> MultiHeadAttention:
    return MultiHeadAttention(size, num_heads=2, position=RotaryPositions())


reader = TransformerEncoderBlock(look(), FeedForward(size, 4 * size))
writer = TransformerDecoderBlock(look(), MultiHeadAttention(size, 2), FeedForward(size, 4 * size, activation="swiglu"))
memory = writer.remember(reader(source, mask=Padding(lengths)), mask=Padding(lengths))
target = torch.randn(3, 8, size)

# %% Decoding: all at once, as in training, and word by word with a cache of fixed capacity. The numbers agree.
with torch.no_grad():
    at_once = writer(target, memory, return_weights=True)
    cache, errors, rows = writer.start(batch_size=3, capacity=10), [], []
    for place in range(8):
        step = writer.step(target[:, place : place + 1], cache, memory, return_weights=True)
        cache = step.state
        errors.append((step.states - at_once.states[:, place : place + 1]).abs().max().item())
        rows.append(step.self_weights[0, 0, 0])
print(f"cache: {cache.length.tolist()} of {cache.capacity} places filled; largest difference {max(errors):.1e}")
beam = cache.select(torch.tensor([0, 0, 2]))  # beam search re-orders it by rows
print(f"after select: keys {tuple(beam.key.shape)}")

# %% Draw
figure, (left, middle, right) = panels(
    1,
    3,
    size=(4.3, 3.3),
    titles=["Encoder: length of each state", "Decoding with a cache", "Step by step or all at once"],
)
norms = encoded.memory.norm(dim=-1)
sentences = [f"sentence {number}" for number in range(3)]
mesh = draw_heatmap(
    left, norms, query_labels=sentences, mask=Padding(lengths).dense((3, 1, 7))[:, 0], limits=(0, 2), sums=False
)
left.set(xlabel="place; hatched is padding", ylabel="", aspect="auto")
color_bar(mesh, left, label="length")
filled = Causal(align="start").dense((8, 10))
color_bar(draw_heatmap(middle, torch.stack(rows), mask=filled), middle)
middle.set(xlabel="place in the cache; hatched is not filled yet", ylabel="step", aspect="auto")
right.bar(range(8), errors, color=PALETTE[0])
right.axhline(torch.finfo(torch.float32).eps, color=PALETTE[1], ls="--", lw=1)
right.text(7.4, 3e-6, "dashed: float32 rounds 1 by this", color=PALETTE[1], fontsize=8.5, ha="right")
right.set(yscale="log", ylim=(1e-8, 1e-4), xlabel="step", ylabel="largest difference")
right.yaxis.label.set_color(MUTED)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "15_blocks.png")
print(f"wrote {folder / '15_blocks.png'}")
