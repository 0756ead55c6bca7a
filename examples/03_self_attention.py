"""Self-attention with nothing to learn, softmax(XXᵀ)X, on "The cat chased the mouse"."""

# %% Word vectors from counting. The sentences below were written for this page; the vectors know nothing else.
import argparse
from pathlib import Path

import torch

from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap, draw_lines
from regard.inspection.drawing.panels import panels
from regard.layers import SelfAttention

corpus = """
the cat chased the bird . the dog chased the cat . a mouse ran from the cat . the cat caught a mouse .
the dog caught the ball . a bird flew from the cat . the mouse ate the cheese . the cat ate the fish .
the dog ate the meat . a mouse hid in the house . the cat slept in the house . the dog slept in the garden .
the girl chased the ball . the dog chased a mouse . the mouse ran in the garden . the bird ate the bread .
"""
sentences = [sentence.split() for sentence in corpus.split(".") if sentence.strip()]
vocabulary = sorted({word for sentence in sentences for word in sentence})
number = {word: place for place, word in enumerate(vocabulary)}

# %% How often two words stand at most two apart, against how often chance would have it: positive mutual information.
together = torch.zeros(len(vocabulary), len(vocabulary))
for sentence in sentences:
    for place, word in enumerate(sentence):
        for neighbor in sentence[max(place - 2, 0) : place] + sentence[place + 1 : place + 3]:
            together[number[word], number[neighbor]] += 1
share = together / together.sum()
expected = share.sum(1, keepdim=True) * share.sum(0, keepdim=True)
information = (share / expected).log().clamp_min(0)
vectors = 1.5 * information / information.norm(dim=1, keepdim=True)  # of one length: scores lie between 0 and 2.25

# %% Every word as a mixture of all words. No parameters, no positions.
words = ["The", "cat", "chased", "the", "mouse"]
x = vectors[[number[word.lower()] for word in words]][None]
layer = SelfAttention()
with record(layer, query_labels=words, key_labels=words) as trace:
    y = layer(x)
scores, weights = trace[0].scores[0, 0], trace[0].weights[0, 0]
likeness = float(torch.cosine_similarity(x[0, 1], x[0, 4], dim=0))
mixed = float(torch.cosine_similarity(y[0, 1], y[0, 4], dim=0))
print(f"{len(sentences)} sentences, {len(vocabulary)} words; the layer has {len(list(layer.parameters()))} parameters")
print(f"“cat” looks at itself with {weights[1, 1]:.2f}, at “mouse” with {weights[1, 4]:.2f}")
print(
    f"“chased” looks at “the mouse” with {weights[2, 3:].sum():.2f}, where all words alike would have 0.40: words that "
    "are counted in like company are alike, not who does what to whom. Learned maps find that: example 18."
)
print(f"cosine of cat and mouse: {likeness:.2f} before, {mixed:.2f} after: self-attention brings like words closer")

# %% What it cannot do: see the order. A shuffled sentence gives the same vectors, shuffled.
order = torch.tensor([4, 2, 0, 3, 1])
same = torch.allclose(layer(x[:, order]), y[:, order], atol=1e-6)
alike = torch.allclose(y[0, 0], y[0, 3])
print(
    f"shuffled words, same vectors: {same}; both “the” come out alike: {alike}. Positions are needed: examples 10, 11."
)

# %% Draw
figure, (left, middle, right) = panels(
    1,
    3,
    size=(3.9, 3.6),
    widths=(1, 1, 0.8),
    titles=["Scores XXᵀ from co-occurrence", "Weights: softmax of each row", "The weights as lines"],
)
labels = {"query_labels": words, "key_labels": words}
color_bar(draw_heatmap(left, scores, limits=(0, 2.25), **labels), left, label="score")
color_bar(draw_heatmap(middle, weights, **labels), middle)
draw_lines(right, weights, **labels)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "03_self_attention.png")
print(f"wrote {folder / '03_self_attention.png'}")
