"""What stands out, and what belongs together: an odd color, and the parts of an animal's face."""

# %% Pictures drawn here. Dots of one color but for one; faces whose ears, eyes and mouth go together.
import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import attention
from regard.inspection.drawing.figures import draw_overlay
from regard.inspection.drawing.panels import panels
from regard.layers import LearnedPositions, MultiHeadAttention, PatchEmbedding

torch.manual_seed(0)
side, patch, size = 48, 8, 32
grid = side // patch
down, across = torch.meshgrid(torch.arange(side) + 0.5, torch.arange(side) + 0.5, indexing="ij")
colors = torch.tensor([[0.85, 0.2, 0.15], [0.15, 0.6, 0.3], [0.2, 0.4, 0.9], [0.9, 0.7, 0.1]])
parts = {"ears": (0, 2), "eyes": (2, 4), "mouth": (4, 6)}  # rows of patches


def draw_dots(count: int) -> tuple[Tensor, Tensor]:
    """A dot in every patch, all of one color but for one; and the number of its patch."""
    inside = ((down % patch - 4) ** 2 + (across % patch - 4) ** 2 < 8).float()
    common, odd = torch.stack([torch.randperm(len(colors))[:2] for _ in range(count)]).unbind(1)
    where = torch.randint(grid**2, (count,))
    cells = F.one_hot(where, grid**2).view(count, grid, grid).bool()
    chosen = torch.where(cells[..., None], colors[odd][:, None, None], colors[common][:, None, None])
    painted = chosen.permute(0, 3, 1, 2).repeat_interleave(patch, 2).repeat_interleave(patch, 3)
    return torch.where(inside.bool(), painted, torch.ones(())), where


def draw_face(animal: int, hidden: str | None) -> Tensor:
    """Cat, dog or owl, in any light fur; one part may be covered."""
    face = (down - 26) ** 2 + (across - 24) ** 2 < 360
    beside = (across - 24).abs()
    round_eye = (beside - 8) ** 2 + (down - 24) ** 2
    ears = ((beside - 13).abs() < (down - 2) / 2, (beside - 17).abs() < 4, (beside - 12).abs() + (down - 6).abs() < 4)
    eyes = ((beside - 8).abs() < 1.5, round_eye < 8, round_eye < 30)
    beak = (beside < (42 - down) / 2) & (down > 34)
    mouths = (((down - 37).abs() < 1) & (beside < 12), (down - 38) ** 2 + beside**2 < 16, beak)
    image = torch.ones(3, side, side)
    image[:, face] = 0.6 + 0.3 * torch.rand(3, 1)
    image[:, ears[animal] & (down > 2) & (down < 15)] = 0.35
    image[:, eyes[animal] & (down > 18) & (down < 30)] = 0.1
    image[:, mouths[animal] & (down > 33) & (down < 44)] = 0.2
    if hidden is not None:
        top, bottom = (patch * row for row in parts[hidden])
        image[:, top:bottom] = 0.5
    return image


def draw_faces(count: int, hidden: str) -> tuple[Tensor, Tensor]:
    animals = torch.randint(3, (count,))
    return torch.stack([draw_face(int(animal), hidden) for animal in animals]), animals


# %% What stands out needs no learning: a patch is attended to for how far its color is from the mean of all.
def far_from(query: Tensor, key: Tensor) -> Tensor:
    return 40 * (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)


images, where = draw_dots(200)
shades = F.avg_pool2d(images, patch).flatten(2).mT  # pictures patches colors
odd = attention(shades.mean(1, keepdim=True), shades, score=far_from, return_weights=True).weights[:, 0]
right, on_odd = (odd.argmax(-1) == where).float().mean(), odd.gather(1, where[:, None]).mean()
print(f"the odd dot is attended to most in {right:.0%}, with {on_odd:.2f} of the weight; alike {1 / grid**2:.2f}")


# %% What belongs together is learned: one question for each covered part attends to the patches that are left.
class Finder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = PatchEmbedding(patch, channels=3, size=size)
        self.places = LearnedPositions(grid**2, size)
        self.questions = nn.Embedding(len(parts), size)
        self.attention = MultiHeadAttention(size, num_heads=1)
        self.answer = nn.Linear(size, 3)

    def forward(self, images: Tensor, question: int) -> tuple[Tensor, Tensor]:
        x = self.places(F.layer_norm(self.patches(1 - images)[0], (size,)))
        asked = self.questions.weight[question].expand(len(images), 1, -1)
        context, weights, _ = self.attention(asked, self.attention.remember(x), return_weights=True)
        return self.answer(context[:, 0]), weights[:, 0, 0].unflatten(-1, (grid, grid))


model, drawn = Finder(), [draw_faces(150, part) for part in parts]
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(600):
    pictures, animals = drawn[step % len(drawn)]
    some = torch.randint(len(pictures), (32,))
    loss = F.cross_entropy(model(pictures[some], step % len(drawn))[0], animals[some])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
shown = {"the odd one": (images[0], odd[0].unflatten(-1, (grid, grid)))}
for number, part in enumerate(parts):
    pictures, animals = draw_faces(60, part)
    with torch.no_grad():
        answers, weights = model(pictures, number)
    shares = [f"{name} {weights[:, rows[0] : rows[1]].sum((1, 2)).mean():.2f}" for name, rows in parts.items()]
    right = (answers.argmax(-1) == animals).float().mean()
    print(f"{part} covered: the animal is right in {right:.0%}; weight on the rows of {', '.join(shares)}; alike 0.33")
    shown[f"{part} covered"] = pictures[0], weights[0]

# %% Draw and save: the pictures, and what is attended to.
figure, axes = panels(2, 4, size=(2.4, 2.5), titles=[*shown, *[""] * 4])
for place, (image, weights) in enumerate(shown.values()):
    axes[place].imshow(image.permute(1, 2, 0).numpy())
    axes[place].axis("off")
    draw_overlay(axes[4 + place], image, weights)
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "20_visual_cues.png")
print(f"wrote {folder / '20_visual_cues.png'}")
