"""Pooling as attention: from the nearest point to Nadaraya-Watson regression to a question that is learned."""

# %% Noisy points on a curve. Keys are the places x, values the measurements y; a query asks for y at a new place.
import argparse
from pathlib import Path

import torch
from torch import Tensor

from regard import Window
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, MUTED, PALETTE, panels
from regard.layers import AttentionPooling, GaussianAttention

torch.manual_seed(4)


def curve(x: Tensor, shape: Tensor) -> Tensor:
    """a sin x + b cos x + c x, where `shape` holds a, b and c."""
    a, b, c = shape.split(1, dim=-1)
    return a * torch.sin(x) + b * torch.cos(x) + c * x


def measure(shape: Tensor, points: int = 40) -> tuple[Tensor, Tensor]:
    x = 5 * torch.rand(len(shape), points, 1).sort(1).values
    return x, curve(x, shape) + 0.5 * torch.randn_like(x)


shape = torch.tensor([[[2.0, 0.0, 0.4]]])
x, y = measure(shape)
query = torch.linspace(0, 5, 101).view(1, -1, 1)
truth = curve(query, shape)

# %% The bandwidth is learned by leave-one-out: each point is predicted from all others, ~Window(0, 0).
regression = GaussianAttention(bandwidth=1.0)
optimizer = torch.optim.Adam(regression.parameters(), lr=0.05)
for _ in range(150):
    left_out = regression(x, regression.remember(x, y), mask=~Window(0, 0))
    loss = (left_out - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
bandwidth = regression.bandwidth.item()
print(f"bandwidth: 1.00 at first, {bandwidth:.2f} learned; mean squared error when left out {loss:.3f}")

# %% Four poolings, one interface.
poolings = {
    "one-hot: the nearest point": AttentionPooling("one-hot"),
    "average: every point alike": AttentionPooling("average"),
    "kernel, bandwidth 1": AttentionPooling("kernel", bandwidth=1.0),
    f"kernel, learned bandwidth {bandwidth:.2f}": AttentionPooling("kernel", bandwidth=bandwidth),
}
figure, axes = panels(2, 3, size=(4.1, 3.1), titles=[*poolings, "Weights of the learned kernel", "A learned question"])
for (name, pooling), panel in zip(poolings.items(), axes, strict=False):
    pooled, weights = (tensor.detach() for tensor in pooling(query, x, y))
    error = (pooled - truth).square().mean()
    print(f"{name:<32} mean squared error to the true curve {error:.3f}")
    panel.plot(query[0, :, 0], truth[0, :, 0], color=MUTED, lw=1, ls="--", label="truth")
    panel.plot(x[0, :, 0], y[0, :, 0], "o", color=PALETTE[5], ms=4, alpha=0.8, label="measured")
    panel.plot(query[0, :, 0], pooled[0, :, 0], color=PALETTE[1], lw=2, label=f"pooled, error {error:.2f}")
    panel.legend(frameon=False, fontsize=8, loc="lower left", labelcolor=INK)
    panel.set(ylim=(-3.2, 4.0))
mesh = draw_heatmap(axes[4], weights[0, ::5], limits=(0, 0.3), numbers=False, sums=False)
axes[4].set(xlabel="point, by its place", ylabel="query, from x = 0 to 5", aspect="auto")
color_bar(mesh, axes[4])

# %% "learned" has a question of its own: it finds by training where to look. It sees many curves and must say how high
# each is at x = 3.5, a place that nobody tells it. Keys say where a point lies, by eleven bumps along the axis.
centers = torch.linspace(0, 5, 11)
asking = AttentionPooling("learned", size=len(centers))
optimizer = torch.optim.Adam(asking.parameters(), lr=0.1)
for _ in range(200):
    shapes = torch.randn(32, 1, 3)
    places, values = measure(shapes)
    pooled, weights = asking(None, torch.exp(-2 * (places - centers).square()), values)
    loss = (pooled - curve(torch.tensor(3.5), shapes)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weights = weights.detach()
center = (weights[0, 0] * places[0, :, 0]).sum()
print(f"the learned question: its weights center on x = {center:.2f}; asked for was y at 3.50, which it was not told")
axes[5].vlines(places[0, :, 0], 0, weights[0, 0], color=PALETTE[0], lw=2.5)
axes[5].axvline(3.5, color=PALETTE[1], ls="--", lw=1)
axes[5].text(3.4, 0.97, "asked for ", color=PALETTE[1], fontsize=9, ha="right", transform=axes[5].get_xaxis_transform())
axes[5].set(xlim=(0, 5), xlabel="place of the point", ylabel="weight", ylim=(0, None))

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "07_kernel_pooling.png")
print(f"wrote {folder / '07_kernel_pooling.png'}")
