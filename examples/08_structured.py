"""Structured self-attention: a text summed up by several looks, with and without the penalty that keeps them apart."""

# %% Hotel reviews made up here: three remarks each, in any order. The label: were at least two of them kind?
import argparse
import random
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Padding
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import RecurrentEncoder, StructuredSelfAttention

kind, unkind = ["lovely", "fresh", "clean", "friendly", "warm"], ["stale", "noisy", "dirty", "rude", "cold"]
topics, fill = ["room", "food", "staff"], ["the", "was", "really", "rather", "and", "but"]
vocabulary = ["<pad>", *kind, *unkind, *topics, *fill]
number = {word: place for place, word in enumerate(vocabulary)}


def review(draw: random.Random) -> tuple[list[str], float]:
    words, praise = [], 0
    for topic in draw.sample(topics, 3):
        good = draw.random() < 0.5
        praise += good
        words += ["the", topic, "was", *draw.choice([[], ["really"], ["rather"]])]
        words += [draw.choice(kind if good else unkind), *draw.choice([[], ["and"], ["but"]])]
    return words, float(praise > 1)


def batch(count: int, draw: random.Random) -> tuple[Tensor, Tensor, Tensor]:
    texts, labels = zip(*(review(draw) for _ in range(count)), strict=True)
    rows = [torch.tensor([number[word] for word in text]) for text in texts]
    lengths = torch.tensor([len(row) for row in rows])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths, torch.tensor(labels)


class Judge(nn.Module):
    """Lin et al.: a bidirectional LSTM, three looks at its states, and a decision from what they saw."""

    def __init__(self, size: int = 24, num_hops: int = 3) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vocabulary), size)
        self.encoder = RecurrentEncoder("lstm", size, size // 2, bidirectional=True)
        self.looks = StructuredSelfAttention(size, hidden_size=size, num_hops=num_hops)
        self.decide = nn.Linear(num_hops * size, 1)

    def forward(self, texts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        states = self.encoder(self.words(texts), lengths).memory
        matrix, weights, _ = self.looks(states, mask=Padding(lengths), return_weights=True)
        return self.decide(matrix.flatten(1)).squeeze(-1), weights


# %% Train twice: once for the label alone, once with a fiftieth of ‖AAᵀ − I‖² added.
text = "the food was lovely but the room was rather cold and the staff was friendly"
figure, axes = panels(2, 1, size=(9.4, 2.3))
for panel, factor in zip(axes, (0.0, 0.02), strict=True):
    torch.manual_seed(0)
    model, draw, begin = Judge(), random.Random(0), time.perf_counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(200):
        texts, lengths, labels = batch(32, draw)
        decision, weights = model(texts, lengths)
        loss = F.binary_cross_entropy_with_logits(decision, labels) + factor * model.looks.penalty(weights).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    texts, lengths, labels = batch(300, draw)
    with torch.no_grad():
        decision, weights = model(texts, lengths)
        right = ((decision > 0) == (labels > 0.5)).float().mean()
        overlap = model.looks.penalty(weights).mean()
        _, shown = model(torch.tensor([[number[word] for word in text.split()]]), torch.tensor([len(text.split())]))
    name = f"Penalty × {factor:g}: {right:.0%} right on new reviews, overlap ‖AAᵀ − I‖² = {overlap:.2f}"
    print(f"{name} ({time.perf_counter() - begin:.1f} s of training)")
    mesh = draw_heatmap(panel, shown[0], query_labels=["hop 0", "hop 1", "hop 2"], key_labels=text.split())
    panel.set(xlabel="", ylabel="")
    panel.set_title(name, fontsize=10.5, pad=8)
color_bar(mesh, axes)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "08_structured.png")
print(f"wrote {folder / '08_structured.png'}")
