"""Positions, learned and relative: five ways to tell attention who stands where, four of them trained on one task."""

# %% The task: say the letter before. Whoever cannot tell "one back" from "here" or "two back" cannot do it.
import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Causal, Rotary
from regard.errors import ArgumentError
from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, MUTED, panels
from regard.layers import (
    AlibiBias,
    LearnedPositions,
    MultiHeadAttention,
    RelativePositions,
    RotaryPositions,
    tree_depths,
    tree_relations,
)

alphabet, word, length, size = "abcdefghijklmnopqrstuvwxyz", list("regarding"), 9, 32


class Reader(nn.Module):
    """Added positions go to the embedding, the others into the attention, as its `position`."""

    def __init__(self, position: nn.Module) -> None:
        super().__init__()
        added = isinstance(position, LearnedPositions)
        self.letters = nn.Embedding(len(alphabet), size)
        self.added = position if added else nn.Identity()
        heads = len(position.slopes) if isinstance(position, AlibiBias) else 1
        self.attention = MultiHeadAttention(size, heads, position=None if added else position)
        self.answer = nn.Linear(size, len(alphabet))

    def forward(self, letters: Tensor) -> Tensor:
        return self.answer(self.attention(self.added(self.letters(letters)), mask=Causal()))


def train(model: Reader) -> tuple[str, Tensor]:
    """Learn on words of 9 letters; give how well that went, at 9 and at 18 letters, and the weights on one word."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(200):
        letters = torch.randint(len(alphabet), (64, length))
        loss = F.cross_entropy(model(letters)[:, 1:].flatten(0, 1), letters[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    results = []
    for count in (length, 2 * length):
        letters = torch.randint(len(alphabet), (300, count))
        try:
            results.append(f"{(model(letters)[:, 1:].argmax(-1) == letters[:, :-1]).float().mean():.0%}")
        except ArgumentError:
            results.append("impossible")
    with record(model) as trace, torch.no_grad():
        model(torch.tensor([[alphabet.index(letter) for letter in word]]))
    return f"{results[0]} right on 9 letters, {results[1]} on 18", trace[0].weights[0, 0]


# %% Left: what a mechanism adds. Right: where the trained layer looks.
torch.manual_seed(0)
positions = {
    "learned": LearnedPositions(length, size),
    "rotary": RotaryPositions(),
    "relative": RelativePositions(reach=3, key_size=size, value_size=size),
    "alibi": AlibiBias(4),
}
trained = {name: train(Reader(position)) for name, position in positions.items()}
ones = torch.ones(length, 8)
turned, _ = Rotary().rotate(ones, ones, (length, length))
unit = F.normalize(positions["learned"].table.detach(), dim=-1)
distance = positions["alibi"]().offsets((length, length), torch.device("cpu"))
adds = {
    "learned": ("LearnedPositions: cosine of its vectors, trained", unit @ unit.mT, 1.0),
    "rotary": ("RotaryPositions: product of two equal vectors, turned", turned @ turned.mT / 8, 1.0),
    "relative": ("RelativePositions: which vector, j − i clipped at 3", distance.clamp(-3, 3), 3.0),
    "alibi": ("AlibiBias: −m|i − j|, the first head's m = 1/4", -distance.abs() / 4, 2.0),
}
figures = {}
for name, (title, table, limit) in adds.items():
    result, weights = trained[name]
    print(f"{name:<9} {result}")
    figures[name], (left, right) = panels(1, 2, size=(4.3, 3.9), titles=[title, f"Weights of head 0: {result}"])
    color_bar(draw_heatmap(left, table, limits=(-limit, limit)), left, label="value")
    color_bar(draw_heatmap(right, weights, query_labels=word, key_labels=word, mask=Causal()), right)

# %% Structure: places in a dependency tree instead of the sentence. Heads as a parser gives them; −1 is the root.
words, heads = ["The", "cat", "chased", "the", "mouse"], torch.tensor([1, 2, -1, 4, 2])
depths = tree_depths(heads)
print(f"structure: depths {depths.tolist()} of “{' '.join(words)}”")
figures["structural"], (left, right) = panels(
    1,
    2,
    size=(4.3, 3.6),
    titles=["StructuralPositions: depth in the tree", "StructuralRelations: where a word stands to another"],
)
for place, (head, depth) in enumerate(zip(heads.tolist(), depths.tolist(), strict=True)):
    if head >= 0:
        left.plot([place, head], [depth, depth - 1], color=MUTED, lw=1.2, zorder=1)
    left.text(place, depth, words[place], ha="center", va="center", fontsize=11, color=INK, backgroundcolor="white")
left.set(xlim=(-0.6, 4.6), ylim=(2.5, -0.5), xticks=[], yticks=[0, 1, 2], ylabel="depth")
left.spines[["left", "bottom"]].set_visible(False)
relations = draw_heatmap(right, tree_relations(heads), query_labels=words, key_labels=words, limits=(-4, 4))
color_bar(relations, right, label="relation")

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the pictures")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
for name, figure in figures.items():
    figure.savefig(folder / f"11_positions_{name}.png")
print(f"wrote {folder}/11_positions_({'|'.join(figures)}).png")
