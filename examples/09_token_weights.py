"""Static attention: how much a word counts, whoever asks. TF-IDF, which counts, beside weights that learn."""

# %% Short notes, written for this page. Many people are called David; few are called Beckham.
import argparse
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from regard.inspection.drawing.panels import INK, PALETTE, panels
from regard.layers import TfIdf, TokenWeights

notes = [
    ("football", "david beckham scored from a free kick"),
    ("football", "beckham passed and the striker scored"),
    ("football", "the keeper saved a penalty from david"),
    ("football", "the striker missed a penalty in the final"),
    ("football", "a late free kick won the final"),
    ("football", "david passed to the keeper in the final"),
    ("music", "david bowie sang a song in berlin"),
    ("music", "the crowd sang a song for david"),
    ("music", "the band played a late concert"),
    ("music", "a guitar and a piano played the song"),
    ("music", "david played the piano in the final concert"),
    ("music", "the band recorded a song in berlin"),
]
labels = torch.tensor([float(topic == "football") for topic, _ in notes])
documents = [text.split() for _, text in notes]
sentence = ["david", "beckham", "scored", "a", "penalty", "in", "the", "final"]

# %% TF-IDF as the lecture writes it, count × log(N / n); scikit-learn's has 1 + log((1 + N) / (1 + n)) and length one.
lecture = TfIdf.fit(documents)
smooth = TfIdf.fit(documents, variant="scikit-learn")
by_count, by_smooth = lecture.weigh(sentence), smooth.weigh(sentence)
for word in ("david", "beckham", "the", "klose"):
    found = sum(word in document for document in documents)
    print(f"{word:<8} in {found:>2} of {len(documents)} notes: weighs {lecture.terms([word])[word]:.3f}")

# %% Learned: a number per word, trained so that the mean of word vectors, weighted by it, tells football from music.
torch.manual_seed(0)
vocabulary_size = len(lecture.vocabulary)
vectors, learned = nn.Embedding(vocabulary_size, 8), TokenWeights(vocabulary_size)
decide = nn.Linear(8, 1)
tokens = nn.utils.rnn.pad_sequence(
    [lecture.number(document) for document in documents], batch_first=True, padding_value=-1
)
nn.init.normal_(vectors.weight, std=0.1)
optimizer = torch.optim.Adam([*vectors.parameters(), *learned.parameters(), *decide.parameters()], lr=0.05)
for _ in range(200):
    pooled = learned(tokens, vectors(tokens.clamp_min(0)))  # a token of −1 is padding
    loss = F.binary_cross_entropy_with_logits(decide(pooled).squeeze(-1), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% The weights of one sentence under all three, each row divided by its sum.
number = lecture.number(sentence)[None]
with torch.no_grad():
    _, by_task, _ = learned(number, vectors(number), return_weights=True)
    _, by_idf, _ = TokenWeights.tf_idf(lecture)(number, vectors(number), return_weights=True)
assert torch.allclose(by_idf[0], by_count / by_count.sum(), atol=1e-6)  # TokenWeights is that same TF-IDF, as a layer
columns = {
    "TF-IDF of the lecture": by_count / by_count.sum(),
    "TF-IDF of scikit-learn": by_smooth / by_smooth.sum(),
    "learned: football or music?": by_task[0],
}
for name, weights in columns.items():
    print(f"{name:<34}" + "  ".join(f"{word} {weight:.2f}" for word, weight in zip(sentence, weights, strict=True)))

# %% Draw
figure, axes = panels(1, 3, size=(3.6, 3.2), titles=list(columns))
telling = {"beckham", "david"}
for panel, weights in zip(axes, columns.values(), strict=True):
    colors = [PALETTE[1] if word in telling else PALETTE[0] for word in sentence]
    panel.barh(range(len(sentence)), weights.tolist(), color=colors)
    for place, weight in enumerate(weights.tolist()):
        panel.text(weight + 0.01, place, f"{weight:.2f}", va="center", fontsize=8.5, color=INK)
    panel.set(yticks=range(len(sentence)), yticklabels=sentence, xlim=(0, 0.38), ylim=(len(sentence) - 0.4, -0.6))
    panel.set_xlabel("weight")

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "09_token_weights.png")
print(f"wrote {folder / '09_token_weights.png'}")
