"""Positions as waves: counting in binary with soft bits, and why a shift is a rotation."""

# %% Counting in binary: each bit flips half as often as the one before it. Sinusoids do the same, smoothly.
import argparse
from pathlib import Path

import torch

from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, MUTED, PALETTE, panels
from regard.layers import SinusoidalPositions

length, size = 32, 16
positions = torch.arange(length)
bits = (positions[:, None] >> torch.arange(5)) & 1  # the fastest bit first
waves = SinusoidalPositions(size)
table = waves.table(length)
print(f"position 5 in bits {bits[5].tolist()}, in waves {[round(number, 3) for number in table[5, :4].tolist()]} …")

# %% The paper puts the sine first, many lectures the cosine; features are the same, in another order.
cosine_first = SinusoidalPositions(size, order="cos-sin")
swapped = table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
print(f"cos-sin is sin-cos with each pair swapped: {torch.equal(cosine_first.table(length), swapped)}")

# %% A shift by k is one matrix for all positions: M p(t) = p(t + k), block by block a rotation. Exact to rounding.
for order in ("sin-cos", "cos-sin"):
    each = SinusoidalPositions(size, order=order)
    for offset in (1, 5, -3, 1000):
        start = max(0, -offset)
        here, there = each.table(start + 50)[start:], each.table(start + 50 + max(offset, 0))
        moved = here @ each.rotation(offset).mT
        error = (moved - there[start + offset : start + offset + len(here)]).abs().max()
        print(f"{order}: |M p(t) − p(t {offset:+})| ≤ {error:.1e}")
turn = SinusoidalPositions(8).rotation(5)
print(f"M is orthogonal: |MMᵀ − I| ≤ {(turn @ turn.mT - torch.eye(8)).abs().max():.1e}")

# %% So inner products depend on the distance alone.
longer = waves.table(101)
products = longer @ longer.mT
by_distance = torch.stack([products.diagonal(distance).std(correction=0) for distance in range(100)]).max()
print(f"p(t)·p(t + k) varies with t by at most {by_distance:.1e}")

# %% Draw
figure, (binary, sinusoid, rotation, likeness) = panels(
    1,
    4,
    size=(3.5, 4.1),
    widths=(0.5, 1.1, 1.0, 1.0),
    titles=["Binary counting", "Sinusoids, 16 features", "M for k = 5, 8 features", "Likeness by distance"],
)
draw_heatmap(binary, bits, numbers=False, sums=False)
binary.set(xlabel="bit", ylabel="position", aspect="auto")
mesh = draw_heatmap(sinusoid, table, limits=(-1, 1), numbers=False)
sinusoid.set(xlabel="feature: sine, cosine, sine, …", ylabel="", aspect="auto")
draw_heatmap(rotation, turn, limits=(-1, 1))
rotation.set(xlabel="feature at t", ylabel="feature at t + 5", aspect="auto")
color_bar(mesh, [sinusoid, rotation], label="value")
for color, start in zip(PALETTE, (0, 30, 60), strict=False):
    likeness.plot(range(41), products[start, start : start + 41] / (size / 2), color=color, lw=6 - start / 12)
likeness.text(12, 0.93, "from t = 0, 30 and 60:\none curve", fontsize=9, color=INK)
likeness.set(xlabel="distance k", ylabel="p(t)·p(t + k) / p(t)·p(t)", ylim=(0, 1.05), xlim=(0, 40))
likeness.grid(color="#eceef1")
likeness.yaxis.label.set_color(MUTED)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "10_sinusoids.png")
print(f"wrote {folder / '10_sinusoids.png'}")
