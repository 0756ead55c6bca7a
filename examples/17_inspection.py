"""Five readings of one translation: where it looked, what that carried, and what mattered. They do not agree."""

# %% The language of example 05: adjectives follow the noun, article and adjective agree with it.
import argparse
import random
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.config.model import TransformerSpec
from regard.inspection import (
    another_distribution,
    computation,
    computation_figure,
    gradient_weighted,
    joined,
    kendall_tau,
    leave_one_out,
    norm_weighted,
    record,
    rollout,
    weights_of,
)
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.models import build_model

nouns = {"cat": "gato", "dog": "perro", "cow": "vaca", "hen": "gallina"}
adjectives, verbs = {"white": "blanc", "black": "negr", "old": "viej"}, {"sees": "ve", "follows": "sigue"}
english = ["<pad>", "the", ".", *nouns, *adjectives, *verbs]
spanish = ["<pad>", "<s>", "el", "la", "a", ".", *nouns.values(), *verbs.values()]
spanish += [stem + ending for stem in adjectives.values() for ending in "oa"]
draw = random.Random(1)


def noun_phrase() -> tuple[list[str], list[str]]:
    noun, adjective = draw.choice([*nouns]), draw.choice([*adjectives])
    ending = nouns[noun][-1]
    return ["the", adjective, noun], ["la" if ending == "a" else "el", nouns[noun], adjectives[adjective] + ending]


def sentences(count: int) -> tuple[Tensor, Tensor]:
    sources, targets = [], []
    for _ in range(count):
        (one, uno), (two, dos), verb = noun_phrase(), noun_phrase(), draw.choice([*verbs])
        sources.append([english.index(word) for word in [*one, verb, *two, "."]])
        targets.append([spanish.index(word) for word in ["<s>", *uno, verbs[verb], "a", *dos, "."]])
    return torch.tensor(sources), torch.tensor(targets)


# %% Train a Transformer of two and two blocks for a few seconds.
torch.manual_seed(0)
size = {"size": 32, "num_heads": 2, "feed_forward_size": 64, "num_encoder_layers": 2, "num_decoder_layers": 2}
model = build_model(TransformerSpec(**size), source_vocabulary=len(english), target_vocabulary=len(spanish))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for _ in range(250):
    source, target = sentences(32)
    loss = F.cross_entropy(model(source, None, target[:, :-1]).transpose(1, 2), target[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
model.eval()
source, target = sentences(200)
with torch.no_grad():
    right = (model(source, None, target[:, :-1]).argmax(-1) == target[:, 1:]).float().mean()
print(f"{right:.1%} of the words of new sentences right")

# %% Read one translation in five ways: a row for each Spanish word, a column for each English one.
words, said = [english[token] for token in source[0]], [spanish[token] for token in target[0, 1:]]
layer, places = "decoder.1.cross_attention", range(len(said))


def logits(tokens: Tensor = source[0]) -> Tensor:
    return model(tokens[None], None, target[:1, :-1])[0]


with torch.no_grad(), record(model) as trace:
    logits()
trace = joined(trace)
looked = trace["decoder.*.self_attention"], trace["decoder.*.cross_attention"]
chosen = [
    gradient_weighted(model, lambda row=row: logits().log_softmax(-1)[row, target[0, row + 1]], layer=layer).values[row]
    for row in places
]
readings = {
    "weights, last block": weights_of(trace[layer][0]).values,
    "weight × value norm": norm_weighted(trace[layer][0]).values,
    "rollout": rollout(trace["encoder.*"], decoder=looked[0], cross=looked[1]).values[:, : len(words)].float(),
    "|gradient × weight|": torch.stack(chosen).abs(),
    "leave one out": leave_one_out(logits, source[0]).values,
}
for name, values in readings.items():
    found = [kendall_tau(values[row], readings["leave one out"][row]) for row in places]
    print(f"  {name:<20} Kendall's tau with leave one out: {sum(found) / len(found):.2f}")

# %% Would it have said the same, looking elsewhere?
other = another_distribution(model, logits, layer=layer, tolerance=0.05, steps=100)
same = other.within_tolerance
print(f"other weights, divergence {other.divergence:.2f}, change {other.change:.3f}, same answer: {same}")

# %% Draw, each on a scale of its own but for the weights
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the pictures")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure, axes = panels(1, 5, size=(3.0, 3.4), titles=list(readings))
for panel, (name, values) in zip(axes, readings.items(), strict=True):
    limits = (0.0, 1.0 if name.startswith("weights") else float(values.max()))
    mesh = draw_heatmap(panel, values, query_labels=said, key_labels=words, limits=limits, numbers=False, sums=False)
    color_bar(mesh, panel, label="")
figure.save(folder / "17_inspection.png")
steps = computation(model, logits, layer=layer, query=2, head=0, query_labels=said, key_labels=words)
computation_figure(steps).save(folder / "17_inspection_steps.png")
print(f"wrote {folder / '17_inspection.png'} and {folder / '17_inspection_steps.png'}")
