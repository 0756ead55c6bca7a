"""Self-attention that has learned what is done to whom: "The cat chased the mouse"."""

# %% A small world. Who does it tells nothing of what is done; to whom it is done tells all.
import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap
from regard.inspection.drawing.panels import panels
from regard.layers import MultiHeadAttention, SinusoidalPositions

actors = ["cat", "dog", "girl", "fox", "bird"]
objects = {
    "chased": ["mouse", "ball", "rabbit"],
    "ate": ["cheese", "bread", "fish"],
    "read": ["letter", "book", "map"],
    "wore": ["hat", "coat", "scarf"],
}
pairs = [(verb, thing) for verb, things in objects.items() for thing in things]
vocabulary = ["the", *actors, *objects, *(thing for _, thing in pairs), "[hidden]"]
hidden = len(vocabulary) - 1


def encode(sentence: str) -> list[int]:
    """Give the numbers of the words."""
    return [vocabulary.index(word) for word in sentence.lower().split()]


def draw_sentences(count: int) -> Tensor:
    """Someone does something to something."""
    drawn = zip(torch.randint(len(actors), (count,)), torch.randint(len(pairs), (count,)), strict=True)
    return torch.tensor([encode(f"the {actors[who]} {pairs[what][0]} the {pairs[what][1]}") for who, what in drawn])


def damage(sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Choose words to predict: half of them hidden, a quarter exchanged, a quarter left (Devlin et al. 2019)."""
    chosen, chance = torch.rand(sentences.shape) < 0.3, torch.rand(sentences.shape)
    others = torch.randint(hidden, sentences.shape)
    read = torch.where(chosen & (chance < 0.5), hidden, sentences)
    return torch.where(chosen & (chance > 0.75), others, read), chosen


# %% One head with learned maps; what a word is itself goes around it.
class Reader(nn.Module):
    """Words and positions, one attention head, and a guess at the word of each position."""

    def __init__(self, size: int = 32) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vocabulary), size)
        self.positions = SinusoidalPositions(size, base=100.0)
        self.attention = MultiHeadAttention(size, 1)
        self.guess = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, len(vocabulary)))

    def forward(self, sentence: Tensor) -> Tensor:
        x = self.positions(self.words(sentence))
        return self.guess(x + self.attention(x))


torch.manual_seed(0)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=5e-3)
for _ in range(600):
    sentences = draw_sentences(64)
    read, chosen = damage(sentences)
    loss = F.cross_entropy(reader(read)[chosen], sentences[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% What it does, computed: on every sentence, and on this one, as it stands and with its verb hidden.
every = torch.tensor([encode(f"the {who} {verb} the {thing}") for who in actors for verb, thing in pairs])
blank = every.clone()
blank[:, 2] = hidden
with torch.no_grad(), record(reader) as trace:
    right = (reader(blank)[:, 2].argmax(-1) == every[:, 2]).float().mean()
    reader(every)
on_object = [float(call.weights[:, 0, 2, 4].mean()) for call in trace]
print(f"{len(every)} sentences: a hidden verb is guessed right in {100 * right:.0f} %")
print(
    f"weight of the verb on what it is done to: {on_object[0]:.2f} hidden, {on_object[1]:.2f} as it stands; alike 0.20"
)
words = ["The", "cat", "chased", "the", "mouse"]
typed = torch.tensor([encode("the cat chased the mouse"), encode("the cat [hidden] the mouse")])
with torch.no_grad(), record(reader, query_labels=words, key_labels=words) as trace:
    reader(typed)
weights = trace[0].weights[:, 0]
for name, row in zip(("chased", "[hidden]"), weights[:, 2], strict=True):
    print(f"“{name}”: " + ", ".join(f"{word} {weight:.2f}" for word, weight in zip(words, row.tolist(), strict=True)))
print(
    f"“chased” looks most at “{words[int(weights[0, 2].argmax())]}”, at “the mouse” with {weights[0, 2, 3:].sum():.2f}"
)

# %% Draw
figure, (left, right_panel) = panels(1, 2, size=(3.9, 3.6), titles=["As it stands", "With the verb hidden"])
for panel, shown, third in ((left, weights[0], "chased"), (right_panel, weights[1], "[hidden]")):
    labels = [*words[:2], third, *words[3:]]
    color_bar(draw_heatmap(panel, shown, query_labels=labels, key_labels=labels), panel)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "18_learned_self_attention.png")
print(f"wrote {folder / '18_learned_self_attention.png'}")
