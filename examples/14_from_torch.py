"""Coming from torch: take a trained layer over, look on while it works, and meddle to see what it needs."""

# %% A model as many people have one: torch's own encoder layer, trained to say the letter before and the letter after.
import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import from_torch_mha
from regard.inspection import intervene, record
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import MultiHeadAttention, SinusoidalPositions, TransformerEncoderBlock

torch.manual_seed(1)
alphabet, length, size = "abcdefghijklmnopqrstuvwxyz", 9, 32


class Reader(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(alphabet), size)
        nn.init.normal_(self.letters.weight, std=0.3)
        self.positions = SinusoidalPositions(size, base=100.0)
        self.layer = layer
        self.answer = nn.Linear(size, 2 * len(alphabet))

    def forward(self, letters: Tensor) -> Tensor:
        return self.answer(self.layer(self.positions(self.letters(letters)))).unflatten(-1, (2, len(alphabet)))


def draw_words(count: int) -> tuple[Tensor, Tensor]:
    letters = torch.randint(len(alphabet), (count, length))
    return letters, torch.stack([letters.roll(1, 1), letters.roll(-1, 1)], dim=-1)  # at the ends, around the corner


def right(model: nn.Module, letters: Tensor, answers: Tensor) -> list[str]:
    with torch.no_grad():
        return [f"{share:.0%}" for share in (model(letters).argmax(-1) == answers).float().mean((0, 1)).tolist()]


model, begin = Reader(nn.TransformerEncoderLayer(size, 2, 64, dropout=0.0, batch_first=True)), time.perf_counter()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(200):
    letters, answers = draw_words(64)
    loss = F.cross_entropy(model(letters).flatten(0, 2), answers.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
letters, answers = draw_words(500)
print(f"torch's layer: before {right(model, letters, answers)[0]}, after {right(model, letters, answers)[1]} right")
print(f"({time.perf_counter() - begin:.1f} s of training)")

# %% Take the layer over. Same numbers, to rounding; and back again.
ours = Reader(TransformerEncoderBlock.from_torch(model.layer)).eval()
ours.letters, ours.answer = model.letters, model.answer
with torch.no_grad():
    difference = (ours(letters) - model(letters)).abs().max()
    states = torch.randn(2, 5, size)
    back = (ours.layer.to_torch()(states) - model.layer(states)).abs().max()
print(f"largest difference after from_torch {difference:.1e}, after to_torch {back:.1e}")

# %% A lone nn.MultiheadAttention too. Its masks say True where we say False; from_torch_mha turns them.
theirs = model.layer.self_attn
future = torch.ones(5, 5, dtype=torch.bool).triu(1)
with torch.no_grad():
    expected, _ = theirs(states, states, states, attn_mask=future, need_weights=False)
    found = MultiHeadAttention.from_torch(theirs)(states, mask=from_torch_mha(future))
print(f"nn.MultiheadAttention with a future mask: largest difference {(found - expected).abs().max():.1e}")

# %% Look on. The name is the layer's path in the model.
word = "regarding"
with record(ours, query_labels=list(word), key_labels=list(word)) as trace, torch.no_grad():
    ours(torch.tensor([[alphabet.index(letter) for letter in word]]))
print(trace)
heads = trace["layer.attention"][0].weights[0]

# %% Meddle: take one head's look away, by forcing its weights to be even. What does the model still know?
titles = []
for head in range(2):

    def even(weights: Tensor, head: int = head) -> Tensor:
        forced = weights.clone()
        forced[:, head] = 1 / weights.size(-1)
        return forced

    with intervene(ours, weights={"layer.attention": even}):
        before, after = right(ours, letters, answers)
    print(f"without the look of head {head}: before {before}, after {after} right")
    titles.append(f"Head {head}. Without its look: before {before}, after {after} right")

# %% Draw
figure, axes = panels(1, 2, size=(4.4, 4.3), titles=titles, title="Two heads of a torch layer, taken over")
for panel, weights in zip(axes, heads, strict=True):
    mesh = draw_heatmap(panel, weights, query_labels=list(word), key_labels=list(word))
color_bar(mesh, axes)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "14_from_torch.png")
print(f"wrote {folder / '14_from_torch.png'}")
