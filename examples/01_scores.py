"""Scores, and attention as a soft dictionary: what a query finds depends on how it is compared with the keys."""

# %% A dictionary gives back what was stored under exactly this key, or nothing. Attention compares with every key.
import argparse
from pathlib import Path

import torch

from regard import Additive, Bilinear, Cosine, Dot, Gaussian, ScaledDot, attention, lookup
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, MUTED, PALETTE, panels

names = ["Anna", "Bruno", "Clara", "David"]
rooms = ["room 1", "room 2", "room 3", "room 4"]
try:
    lookup("Klara", names, rooms)
except KeyError as error:
    print(f"a dictionary: KeyError {error}")
found = lookup("Klara", names, rooms, exact=False)
print(f"a soft dictionary: {found.value}, weights {found.weights.numpy().round(3)}")

# %% One query and five keys in the plane, each with a relation to the query that one can see.
query = torch.tensor([1.2, 0.6])
keys = {
    "far ahead": 2.0 * query,
    "half-way": 0.5 * query,
    "near": query + torch.tensor([-0.1, 0.35]),
    "sideways": torch.tensor([-0.6, 1.2]),
    "behind": -0.8 * query,
}
key = torch.stack(list(keys.values()))

# %% The same five keys under six scores. Bilinear and Additive have parameters, here set by hand; layers learn them.
quarter_turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
scores = {
    "Dot  q·k": Dot(),
    "ScaledDot  q·k / √d": ScaledDot(),
    "Cosine  cos(q, k) / 0.2": Cosine(temperature=0.2),
    "Gaussian  −|q − k|² / 2σ²": Gaussian(bandwidth=0.5),
    "Bilinear  qᵀMk, M a quarter turn": Bilinear(quarter_turn),
    "Additive  vᵀtanh(q + k), v = (3, −3)": Additive(torch.tensor([3.0, -3.0])),
}
weights = torch.cat(
    [attention(query[None], key, score=score, return_weights=True).weights for score in scores.values()]
)
for name, row in zip(scores, weights, strict=True):
    best = list(keys)[int(row.argmax())]
    print(f"{name:<38} looks most at {best!r}, weight {float(row.max()):.2f}")

# %% Draw
figure, (left, middle, right) = panels(
    1,
    3,
    size=(4.4, 2.8),
    widths=(0.62, 0.8, 1.0),
    titles=["Looking up “Klara”", "One query, five keys", "Softmax of six scores: one row each"],
)
left.barh(names, found.weights.tolist(), color=PALETTE[0])
left.set(xlim=(0, 1.12), ylim=(3.6, -0.6), xlabel="weight", xticks=[0, 0.5, 1])
for place, weight in enumerate(found.weights.tolist()):
    left.text(weight + 0.02, place, f"{weight:.3f}", va="center", fontsize=9, color=INK)

for (name, point), color in zip(keys.items(), PALETTE[1:], strict=False):
    middle.plot(*point, "o", color=color, markersize=8)
    shift = (8, 6) if name in ("near", "sideways") else (6, -14)
    middle.annotate(name, point.tolist(), shift, textcoords="offset points", fontsize=9, color=INK)
middle.annotate("", query.tolist(), (0, 0), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.8})
middle.text(1.25, 0.6, "query", fontsize=10, color=INK, fontweight="bold")
middle.plot(0, 0, "+", color=MUTED, markersize=12)
middle.set(xlim=(-1.3, 3.3), ylim=(-1.0, 1.7), xticks=[], yticks=[], aspect="equal")
middle.spines[:].set_visible(False)

mesh = draw_heatmap(right, weights, query_labels=list(scores), key_labels=list(keys))
right.set(aspect="auto", xlabel="", ylabel="")
color_bar(mesh, right)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "01_scores.png")
print(f"wrote {folder / '01_scores.png'}")
