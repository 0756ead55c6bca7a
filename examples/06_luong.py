"""Luong attention: look everywhere, through a window that moves on, or through one that is predicted."""

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
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import PALETTE, panels
from regard.layers import LocalAttention, LuongAttention, Memory, Readout, RecurrentEncoder

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


# %% The state of the word itself asks; the word is predicted from the attentional vector. No loop is needed.
class Translator(nn.Module):
    def __init__(self, attention: LuongAttention) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(len(english), size), nn.Embedding(len(spanish), size)
        self.encoder = RecurrentEncoder("gru", size, size // 2, bidirectional=True)
        self.decoder = nn.GRU(size, size, batch_first=True)
        self.attention = attention
        self.readout = Readout("state", len(spanish), state_size=size)

    def read(self, source: Tensor, lengths: Tensor, target: Tensor) -> tuple[Tensor, Memory]:
        encoded = self.encoder(self.source(source), lengths)
        memory = self.attention.remember(encoded.memory, mask=Padding(lengths))
        states, _ = self.decoder(self.target(target), encoded.state.transpose(0, 1).contiguous())
        return states, memory

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        states, memory = self.read(source, lengths, target)
        local = isinstance(self.attention, LocalAttention)  # local-m wants to know at which step each state stands
        steps = {"query_positions": torch.arange(states.size(1))} if local else {}
        return self.readout(self.attention(states, memory, **steps).vector)


# %% Train the three on the same sentences; keep one sentence, and 200 others, out of it.
english_words = ["the", "old", "cat", "sees", "the", "black", "hen", "."]
spanish_words = ["el", "gato", "viejo", "ve", "a", "la", "gallina", "negra", "."]
kept = [(english_words, spanish_words), *(sentence() for _ in range(200))]
training = [pair for pair in (sentence() for _ in range(3000)) if pair not in kept]
torch.manual_seed(0)  # local-p depends on luck: other seeds end between 89% and 100%
models = {
    "global": Translator(LuongAttention(size, size, score="general")),
    "local-m: the window moves on": Translator(LocalAttention(size, size, kind="monotonic", half_width=2)),
    "local-p: a predicted window": Translator(LocalAttention(size, size, kind="predictive", half_width=2)),
}
figure, axes = panels(1, 3, size=(4.1, 4.0), titles=list(models))
for (name, model), panel in zip(models.items(), axes, strict=True):
    begin, optimizer = time.perf_counter(), torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(200):
        source, lengths, target = batch(draw.sample(training, 16))
        loss = F.cross_entropy(model(source, lengths, target[:, :-1]).transpose(1, 2), target[:, 1:], ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    source, lengths, target = batch(kept)
    with torch.no_grad():
        right = (model(source, lengths, target[:, :-1]).argmax(-1) == target[:, 1:])[target[:, 1:] > 0].float().mean()
    source, lengths, target = batch(kept[:1])
    with record(model) as trace, torch.no_grad():
        model(source, lengths, target[:, :-1])
    call = trace[0]  # all words in one call; what lies outside a window is masked
    total = float(call.weights[0, 0].sum(-1).mean())
    print(f"{name:<29} {right:.1%} of unseen words right, rows sum to {total:.2f}, {time.perf_counter() - begin:.1f} s")
    labels = {"query_labels": spanish_words, "key_labels": english_words}
    mesh = draw_heatmap(panel, call.weights[0, 0], mask=call.mask[0, 0], **labels)
    panel.set(xlabel="source", ylabel="target")
    if name.startswith("local-p"):  # mark p_t, the middle of each Gaussian window; weights shrink away from it
        with torch.no_grad():
            center = model.attention.center(*model.read(source, lengths, target[:, :-1]))[0]
        bottoms = [row + 0.9 for row in range(len(center))]
        panel.plot((center + 0.5).tolist(), bottoms, "^", color=PALETTE[1], ms=6, clip_on=False)
        panel.set_xlabel("source; triangles: predicted place")
color_bar(mesh, axes)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "06_luong.png")
print(f"wrote {folder / '06_luong.png'}")
