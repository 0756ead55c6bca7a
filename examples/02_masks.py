"""Masks: who may look at whom, and why the future must be hidden before the softmax, not after it."""

# %% Five words as vectors. They are drawn at random: this picture is about masks, not about meaning.
import argparse
from pathlib import Path

import torch

from regard import Causal, Documents, Padding, Window, attention
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels

words = ["Zuko", "made", "his", "uncle", "tea"]
count = len(words)
torch.manual_seed(8)
vectors = torch.randn(count, 8)
other_ending = torch.cat([vectors[:-1], torch.randn(1, 8)])  # the same sentence with another last word


def mask_before(x: torch.Tensor) -> torch.Tensor:
    return attention(x, x, mask=Causal(), return_weights=True).weights


def mask_after(x: torch.Tensor) -> torch.Tensor:
    """The mistake: hidden words have already taken their share of the softmax."""
    return attention(x, x, return_weights=True).weights * Causal().dense((count, count))


# %% A model that predicts the next word must not know it. Change "tea": what do the words before it notice?
rows = slice(0, count - 1)
for name, weigh in (("before", mask_before), ("after", mask_after)):
    change = (weigh(other_ending) - weigh(vectors))[rows].abs().max()
    sums = ", ".join(f"{total:.2f}" for total in weigh(vectors).sum(-1).tolist())
    print(f"masked {name} the softmax: rows sum to {sums}; a new last word changes earlier rows by {change:.3f}")

# %% Draw the weights, and what a new last word changes in them.
figure, axes = panels(
    2,
    3,
    size=(3.6, 3.3),
    titles=[
        "no mask",
        "masked before the softmax",
        "masked after the softmax: a mistake",
        "",
        "…what a new last word changes: nothing earlier",
        "…what a new last word changes: the past",
    ],
)
labels = {"query_labels": words, "key_labels": words}
unmasked = attention(vectors, vectors, return_weights=True).weights
mesh = draw_heatmap(axes[0], unmasked, **labels)
draw_heatmap(axes[1], mask_before(vectors), mask=Causal(), **labels)
draw_heatmap(axes[2], mask_after(vectors), mask=Causal(), **labels)
color_bar(mesh, axes[2])
axes[3].set_visible(False)
for panel, weigh in ((axes[4], mask_before), (axes[5], mask_after)):
    change = weigh(other_ending) - weigh(vectors)
    signed = draw_heatmap(panel, change, mask=Causal(), limits=(-0.5, 0.5), **labels)
color_bar(signed, axes[5], label="change of weight")

# %% Masks are values that combine by & | ~. A gallery; True, shown dark, means "may attend".
documents = Documents.of_lengths([3, 4])
masks = {
    "Causal()": Causal(),
    "Padding(5)": Padding(torch.tensor(5)),
    "Window(1, 1)": Window(1, 1),
    "Window(2, 0)": Window(2, 0),
    "documents of 3 and 4": documents,
    "Causal() & documents": Causal() & documents,
    "Causal() | Window(0, 1)": Causal() | Window(0, 1),
    "~Window(0, 0)": ~Window(0, 0),
}
gallery, frames = panels(2, 4, size=(2.75, 2.8), titles=list(masks), title="Who may look at whom, seven places")
for panel, mask in zip(frames, masks.values(), strict=True):
    allowed = mask.dense((7, 7)).expand(7, 7)
    draw_heatmap(panel, 0.6 * allowed, mask=mask, numbers=False, sums=False)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the pictures")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "02_masks.png")
gallery.savefig(folder / "02_masks_gallery.png")
print(f"wrote {folder / '02_masks.png'} and 02_masks_gallery.png beside it")
