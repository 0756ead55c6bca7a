"""Attention on images: which channel, which place, and which patch a word looks at."""

# %% Scenes made up here: three shapes, one of each color, on a three-by-three field.
import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.inspection.drawing.figures import color_bar, draw_heatmap, draw_overlay
from regard.inspection.drawing.panels import INK, PALETTE, panels
from regard.layers import ConvolutionalBlockAttention, LearnedPositions, MultiHeadAttention, PatchEmbedding

torch.manual_seed(0)
colors = {"red": (0.85, 0.2, 0.15), "green": (0.15, 0.6, 0.3), "blue": (0.2, 0.4, 0.9)}
side, cell, patch, size = 48, 16, 6, 32
down, across = torch.meshgrid(torch.arange(cell) - 7.5, torch.arange(cell) - 7.5, indexing="ij")
shapes = [
    down**2 + across**2 < 38,
    (down.abs() < 5) & (across.abs() < 5),
    ((down.abs() < 2) | (across.abs() < 2)) & (down.abs() < 6.5) & (across.abs() < 6.5),
]


def scenes(count: int) -> tuple[Tensor, Tensor]:
    """Images, and for each color the cell, 0 to 8, where its shape lies."""
    images = (0.95 + 0.02 * torch.randn(count, 3, side, side)).clamp(0, 1)
    cells = torch.stack([torch.randperm(9)[:3] for _ in range(count)])
    for image, places in zip(images, cells.tolist(), strict=True):
        for place, color in zip(places, colors.values(), strict=True):
            row, column = cell * (place // 3), cell * (place % 3)
            shape = shapes[int(torch.randint(3, ()))]
            image[:, row : row + cell, column : column + cell][:, shape] = torch.tensor(color)[:, None]
    return images, cells


# %% A convolution, CBAM's two gates, patches, and words that look at the patches: "where is red?"
class Finder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 16, 5, padding=2)
        self.gates = ConvolutionalBlockAttention(16, reduction=4)
        self.patches = PatchEmbedding(patch, channels=16, size=size)
        self.norm = nn.LayerNorm(size)
        self.places = LearnedPositions((side // patch) ** 2, size)
        nn.init.normal_(self.places.table)
        self.words = nn.Embedding(len(colors), size)
        self.attention = MultiHeadAttention(size, num_heads=1)
        self.answer = nn.Linear(size, 9)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The answers for each color, the weights of the patches, and those of channels and places."""
        features = torch.relu(self.convolution(1 - images))  # ink on paper
        gated = self.gates(features, return_weights=True)
        embedding, grid = self.patches(gated.features)
        embedding = self.norm(embedding)
        memory = self.attention.remember(embedding, self.places(embedding))
        questions = self.words.weight.expand(len(images), -1, -1)
        context, weights, _ = self.attention(questions, memory, return_weights=True)
        return self.answer(context), weights[:, 0].unflatten(-1, grid), gated.channel_weights, gated.spatial_weights


images, cells = scenes(400)
model, begin = Finder(), time.perf_counter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(60):
    some = torch.randint(360, (24,))
    loss = F.cross_entropy(model(images[some])[0].flatten(0, 1), cells[some].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    answers, weights, by_channel, by_place = model(images[360:])
right = (answers.argmax(-1) == cells[360:]).float().mean()
print(f"{right:.0%} of 120 questions about new scenes right, {time.perf_counter() - begin:.1f} s of training")

# %% How much of a word's weight lies in the cell of its shape? Nobody told the model where to look.
row, column = cells[360:] // 3, cells[360:] % 3
middle = (torch.arange(side // patch) + 0.5) * patch
inside = ((middle // cell) == row[..., None])[..., :, None] & ((middle // cell) == column[..., None])[..., None, :]
print(f"weight inside the cell of the shape asked for: {(weights * inside).sum((-2, -1)).mean():.2f} (by chance 0.11)")
ends = [f"{gate.min():.2f} to {gate.max():.2f}" for gate in (by_channel, by_place)]
print(f"CBAM: weights of channels {ends[0]}, of places {ends[1]}")

# %% Draw one of the new scenes.
shown = 3
image = images[360 + shown]
titles = ["The image", "CBAM: which channel", "CBAM: which place", *(f"“{name}” looks at" for name in colors)]
figure, axes = panels(2, 3, size=(3.5, 3.2), titles=titles)
axes[0].imshow(image.permute(1, 2, 0).numpy(), extent=(0, side, side, 0))
axes[0].axis("off")
axes[1].bar(range(16), by_channel[shown].tolist(), color=PALETTE[0])
axes[1].set(xlabel="channel", ylabel="weight", ylim=(0, 1), xticks=range(0, 16, 3))
axes[1].axhline(0.5, color=INK, lw=0.6, ls=":")
color_bar(draw_heatmap(axes[2], by_place[shown], numbers=False, sums=False), axes[2])
axes[2].set(xlabel="", ylabel="", xticks=[], yticks=[])
for panel, each in zip(axes[3:], weights[shown], strict=True):
    over = draw_overlay(panel, image, each, limit=1.0)
color_bar(over, axes[5])

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "13_vision.png")
print(f"wrote {folder / '13_vision.png'}")
