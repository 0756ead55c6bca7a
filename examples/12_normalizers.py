"""Normalizers: one row of scores, many ways to make weights of it."""

# %% Scores of one query against six keys.
import argparse
from pathlib import Path

import torch

from regard import Entmax, Hard, Mean, Sigmoid, Softmax, Sparsemax
from regard.attention.normalize import normalize
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, PALETTE, panels

scores = torch.tensor([[2.0, 1.6, 0.8, 0.0, -0.5, -1.5]])
normalizers = {
    "softmax": Softmax(),
    "entmax 1.5": Entmax(1.5),
    "sparsemax": Sparsemax(),
    "hard": Hard(),
    "mean": Mean(),
    "sigmoid": Sigmoid(),
}
rows = {name: normalize(scores, None, normalizer)[0] for name, normalizer in normalizers.items()}
for name, row in rows.items():
    numbers = [round(weight, 3) for weight in row.tolist()]
    print(f"{name:<11} {numbers}  sum {row.sum():.2f}, {int((row == 0).sum())} zeros")

# %% A mask acts before the normalizer: the weights that are left share what the hidden key had. A gate's do not.
mask = torch.tensor([[False, True, True, True, True, True]])
masked = {name: normalize(scores, mask, normalizer)[0] for name, normalizer in normalizers.items()}
print(f"with the best key hidden, softmax gives {[round(weight, 3) for weight in masked['softmax'].tolist()]}")

# %% Two keys: the weight of the first as its score rises above that of the other. Only softmax never reaches one.
difference = torch.linspace(-3.5, 3.5, 281)
pair = torch.stack([difference, torch.zeros_like(difference)], dim=-1)

# %% Draw
figure, (left, middle, right) = panels(
    1,
    3,
    size=(3.9, 3.3),
    widths=(1, 1, 1.1),
    titles=["One row of scores", "The first key masked", "One key of two"],
)
keys = [f"{score:g}".replace("-", "−") for score in scores[0].tolist()]
labels = {"query_labels": list(rows), "key_labels": keys, "sums": True}
draw_heatmap(left, torch.stack(list(rows.values())), **labels)
mesh = draw_heatmap(middle, torch.stack(list(masked.values())), mask=mask, **labels)
for panel in (left, middle):
    panel.set(xlabel="score of the key", ylabel="")
color_bar(mesh, middle)
for (name, normalizer), color in zip(normalizers.items(), PALETTE, strict=False):
    dashed = name in ("hard", "mean", "sigmoid")
    weight = normalize(pair, None, normalizer)[:, 0]
    right.plot(difference.tolist(), weight.tolist(), color=color, lw=2, ls="--" if dashed else "-", label=name)
right.set(xlabel="score above the other's", ylabel="weight", ylim=(-0.03, 1.03), xlim=(-3.5, 3.5))
right.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="center left", bbox_to_anchor=(1.0, 0.5))
right.grid(color="#eceef1")

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "12_normalizers.png")
print(f"wrote {folder / '12_normalizers.png'}")
