"""Queries, keys and values; then several heads. Three questions at once need three looks at once."""

# %% The task: for every letter of a word say the letter before it, the one after it, and the first of the word.
import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import MultiHeadAttention, SelfAttention, SinusoidalPositions

torch.manual_seed(3)
alphabet, length, size = "abcdefghijklmnopqrstuvwxyz", 9, 48


def draw_words(count: int) -> tuple[Tensor, Tensor]:
    """Random letters, and the three answers for each; at the ends a letter is its own neighbor."""
    letters = torch.randint(len(alphabet), (count, length))
    before = torch.cat([letters[:, :1], letters[:, :-1]], dim=1)
    after = torch.cat([letters[:, 1:], letters[:, -1:]], dim=1)
    first = letters[:, :1].expand(-1, length)
    return letters, torch.stack([before, after, first], dim=-1)


class Reader(nn.Module):
    """Letters and positions, one look, and a linear answer to each question."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(alphabet), size)
        nn.init.normal_(self.letters.weight, std=0.3)
        self.positions = SinusoidalPositions(size, base=100.0)
        self.attention = attention
        self.answer = nn.Linear(size, 3 * len(alphabet))

    def forward(self, letters: Tensor) -> Tensor:
        seen = self.attention(self.positions(self.letters(letters)))
        return self.answer(seen).unflatten(-1, (3, len(alphabet)))


def train(model: Reader, steps: int = 300) -> list[float]:
    """Learn, then give the share of right answers on new words, question by question."""
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        letters, answers = draw_words(64)
        loss = F.cross_entropy(model(letters).flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    letters, answers = draw_words(500)
    return (model(letters).argmax(-1) == answers).float().mean((0, 1)).tolist()


# %% One head, softmax(QKᵀ/√d)V with Q = XW^Q and so on, against three heads of a third of the width.
readers = {
    "one head": Reader(SelfAttention(size, scaled=True)),
    "three heads": Reader(MultiHeadAttention(size, num_heads=3)),
}
right = {}
for name, reader in readers.items():
    begin = time.perf_counter()
    right[name] = train(reader)
    before, after, first = right[name]
    seconds = time.perf_counter() - begin
    print(f"{name:<12} right: before {before:.0%}, after {after:.0%}, first {first:.0%} ({seconds:.1f} s of training)")

# %% Look on while both read one word.
word = "regarding"
letters = torch.tensor([[alphabet.index(letter) for letter in word]])
weights = []
for reader in readers.values():
    with record(reader) as trace, torch.no_grad():
        reader(letters)
    weights.extend(trace[0].weights[0])

# %% Say what each head does by where its weight lies: on the letter before, on the one after, or on the first.
places = torch.arange(length)
targets = {"before": (places - 1).clamp_min(0), "after": (places + 1).clamp_max(length - 1), "first": places * 0}
titles = [f"One head of {size}: {sum(right['one head']) / 3:.0%} right"]
for head, map_ in enumerate(weights[1:]):
    shares = {name: float(map_[places, target].mean()) for name, target in targets.items()}
    best = max(shares, key=lambda name: shares[name])
    titles.append(f"Head {head} of three looks at “{best}”: {shares[best]:.0%} of its weight")
print(f"three heads together: {sum(right['three heads']) / 3:.0%} right")

# %% Draw
figure, axes = panels(1, 4, size=(3.4, 3.7), titles=titles)
for panel, map_ in zip(axes, weights, strict=True):
    mesh = draw_heatmap(panel, map_, query_labels=list(word), key_labels=list(word))
color_bar(mesh, axes)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "04_multi_head.png")
print(f"wrote {folder / '04_multi_head.png'}")
