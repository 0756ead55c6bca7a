"""Bahdanau attention: a small translator, trained in seconds, and where each of its words looked."""

# %% The language: adjectives follow the noun, article and adjective agree with it, and "a" marks who is seen.
import argparse
import random
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Padding
from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap, draw_lines
from regard.inspection.drawing.panels import panels
from regard.layers import AdditiveAttention, ConditionalGRU, Readout, RecurrentEncoder

nouns = {"cat": "gato", "dog": "perro", "bird": "pájaro", "cow": "vaca", "hen": "gallina", "sheep": "oveja"}
adjectives = {"white": "blanc", "black": "negr", "small": "pequeñ", "tired": "cansad", "old": "viej"}
verbs = {"sees": "ve", "follows": "sigue", "greets": "saluda", "scares": "asusta"}
english = ["<pad>", "the", ".", *nouns, *adjectives, *verbs]
forms = [stem + ending for stem in adjectives.values() for ending in "oa"]
spanish = ["<pad>", "<s>", "el", "la", "a", ".", *nouns.values(), *forms, *verbs.values()]
draw, size = random.Random(1), 32


def noun_phrase() -> tuple[list[str], list[str]]:
    noun, adjective = draw.choice([*nouns]), draw.choice([*adjectives, ""])
    ending = nouns[noun][-1]
    agreeing = [adjectives[adjective] + ending] if adjective else []
    return ["the", *adjective.split(), noun], ["la" if ending == "a" else "el", nouns[noun], *agreeing]


def sentence() -> tuple[list[str], list[str]]:
    (one, uno), (two, dos), verb = noun_phrase(), noun_phrase(), draw.choice([*verbs])
    return [*one, verb, *two, "."], [*uno, verbs[verb], "a", *dos, "."]


def batch(pairs: list[tuple[list[str], list[str]]]) -> tuple[Tensor, Tensor, Tensor]:
    """The source, its lengths, and the target behind a start mark, as numbers."""
    source = [torch.tensor([english.index(word) for word in one]) for one, _ in pairs]
    target = [torch.tensor([spanish.index(word) for word in ["<s>", *other]]) for _, other in pairs]
    padded = [nn.utils.rnn.pad_sequence(rows, batch_first=True) for rows in (source, target)]
    return padded[0], torch.tensor([len(row) for row in source]), padded[1]


# %% The state before a word asks; what comes back goes into the word's prediction and into the next state.
class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(len(english), size), nn.Embedding(len(spanish), size)
        self.encoder = RecurrentEncoder("gru", size, size // 2, bidirectional=True)
        self.attention = AdditiveAttention(query_size=size, key_size=size, hidden_size=size)
        self.gru = ConditionalGRU(input_size=size, state_size=size, context_size=size)
        self.readout = Readout("linear", len(spanish), state_size=size, embedding_size=size, context_size=size)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        states, last, _ = self.encoder(self.source(source), lengths)
        memory = self.attention.remember(states, mask=Padding(lengths))  # projected once per source
        state, logits = last[:, 0], []
        for embedding in self.target(target).unbind(1):
            context = self.attention(state[:, None], memory)[:, 0]
            logits.append(self.readout(state, embedding, context))
            state = self.gru(embedding, state, context)
        return torch.stack(logits, dim=1)


# %% Train on sentences made as we go; keep one sentence, and 200 others, out of it.
torch.manual_seed(0)
english_words = ["the", "old", "cat", "sees", "the", "black", "hen", "."]
spanish_words = ["el", "gato", "viejo", "ve", "a", "la", "gallina", "negra", "."]
kept = [(english_words, spanish_words), *(sentence() for _ in range(200))]
training = [pair for pair in (sentence() for _ in range(3000)) if pair not in kept]
model, begin = Translator(), time.perf_counter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(200):
    source, lengths, target = batch(draw.sample(training, 16))
    loss = F.cross_entropy(model(source, lengths, target[:, :-1]).transpose(1, 2), target[:, 1:], ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
source, lengths, target = batch(kept)
with torch.no_grad():
    right = (model(source, lengths, target[:, :-1]).argmax(-1) == target[:, 1:])[target[:, 1:] > 0].float().mean()
print(f"{right:.1%} of the words of unseen sentences right after {time.perf_counter() - begin:.1f} s of training")

# %% Look on while the model reads one of them: one call of the attention per word.
source, lengths, target = batch(kept[:1])
with record(model) as trace, torch.no_grad():
    model(source, lengths, target[:, :-1])
weights = torch.cat([call.weights[0, 0] for call in trace])
for word, row in zip(spanish_words, weights, strict=True):
    print(f"  {word:<8} looks at {english_words[int(row.argmax())]:<6} {float(row.max()):.2f}")

# %% Draw
figure, (left, right_panel) = panels(
    1, 2, size=(4.4, 4.1), widths=(1.25, 1), titles=["Where each Spanish word looked", ""]
)
labels = {"query_labels": spanish_words, "key_labels": english_words}
color_bar(draw_heatmap(left, weights, **labels), left)
left.set(xlabel="source", ylabel="target, when predicted")
draw_lines(right_panel, weights, names=("target", "source"), **labels)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "05_bahdanau.png")
print(f"wrote {folder / '05_bahdanau.png'}")
