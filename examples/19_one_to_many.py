"""One French verb, four English words: "rentreront" is "will be coming home", and all four look at it."""

# %% A corner of French: verbs in the future and in the conditional, whose one word is four in English.
import argparse
import random
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import Padding
from regard.inspection import record
from regard.inspection.drawing.figures import color_bar, draw_heatmap, draw_lines
from regard.inspection.drawing.panels import panels
from regard.layers import AdditiveAttention, ConditionalGRU, Readout, RecurrentEncoder

people = {
    "les enfants": "the children",
    "mes amis": "my friends",
    "nos voisins": "our neighbors",
    "les filles": "the girls",
}
verbs = {"rentrer": "coming home", "revenir": "coming back", "repartir": "leaving again", "ressortir": "going out"}
stems = {"rentrer": "rentrer", "revenir": "reviendr", "repartir": "repartir", "ressortir": "ressortir"}
times = {"demain": "tomorrow", "ce soir": "tonight", "lundi": "on monday", "bientôt": "soon"}
moods = {"ont": "will be", "aient": "would be"}
draw, size = random.Random(1), 32


def sentence() -> tuple[list[str], list[str]]:
    """Somebody does something at some time; the time may come first."""
    who, verb, when, mood = (draw.choice([*table]) for table in (people, verbs, times, moods))
    french, english = f"{who} {stems[verb]}{mood}", f"{people[who]} {moods[mood]} {verbs[verb]}"
    if draw.random() < 0.5:
        return f"{french} {when} .".split(), f"{english} {times[when]} .".split()
    return f"{when} , {french} .".split(), f"{times[when]} {english} .".split()


drawn = [sentence() for _ in range(2000)]
sources, targets = (sorted({word for pair in drawn for word in pair[side]}) for side in (0, 1))
sources, targets = ["<pad>", *sources], ["<pad>", "<s>", *targets]


def batch(pairs: list[tuple[list[str], list[str]]]) -> tuple[Tensor, Tensor, Tensor]:
    """The source, its lengths, and the target behind a start mark, as numbers."""
    source = [torch.tensor([sources.index(word) for word in one]) for one, _ in pairs]
    target = [torch.tensor([targets.index(word) for word in ["<s>", *other]]) for _, other in pairs]
    padded = [nn.utils.rnn.pad_sequence(rows, batch_first=True) for rows in (source, target)]
    return padded[0], torch.tensor([len(row) for row in source]), padded[1]


# %% Bahdanau's model, as in example 05.
class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(len(sources), size), nn.Embedding(len(targets), size)
        self.encoder = RecurrentEncoder("gru", size, size // 2, bidirectional=True)
        self.attention = AdditiveAttention(query_size=size, key_size=size, hidden_size=size)
        self.gru = ConditionalGRU(input_size=size, state_size=size, context_size=size)
        self.readout = Readout("linear", len(targets), state_size=size, embedding_size=size, context_size=size)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        states, last, _ = self.encoder(self.source(source), lengths)
        memory = self.attention.remember(states, mask=Padding(lengths))
        state, logits = last[:, 0], []
        for embedding in self.target(target).unbind(1):
            context = self.attention(state[:, None], memory)[:, 0]
            logits.append(self.readout(state, embedding, context))
            state = self.gru(embedding, state, context)
        return torch.stack(logits, dim=1)


torch.manual_seed(0)
french = ["les", "enfants", "rentreront", "demain", "."]
english = ["the", "children", "will", "be", "coming", "home", "tomorrow", "."]
training = [pair for pair in drawn if pair[0] != french]
model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(250):
    source, lengths, target = batch(draw.sample(training, 16))
    loss = F.cross_entropy(model(source, lengths, target[:, :-1]).transpose(1, 2), target[:, 1:], ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %% What it says of a sentence it was never trained on, and which word each of its words looked at.
source, lengths, target = batch([(french, english)])
with record(model) as trace, torch.no_grad():
    guesses = model(source, lengths, target[:, :-1])[0].argmax(-1)
said = [targets[int(guess)] for guess in guesses]
weights = torch.cat([call.weights[0, 0] for call in trace])
print(f"{' '.join(french)} → {' '.join(said)}: {'right' if said == english else 'wrong'}")
verb = french.index("rentreront")
four = range(english.index("will"), english.index("home") + 1)
for row in four:
    print(f"  {english[row]:<7} rentreront {weights[row, verb]:.2f}, most at {french[int(weights[row].argmax())]}")
led = sum(int(weights[row].argmax()) == verb for row in four)
print(f"{led} of the 4 words look most at the one verb; all words alike would give it {1 / len(french):.2f}")

# %% Draw
figure, (left, right) = panels(
    1, 2, size=(4.4, 4.1), widths=(1.1, 1), titles=["One French verb, four English words", ""]
)
labels = {"query_labels": english, "key_labels": french}
color_bar(draw_heatmap(left, weights, **labels), left)
left.set(xlabel="source", ylabel="target, when predicted")
draw_lines(right, weights, names=("target", "source"), **labels)

# %% Save
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, default=Path("runs/examples"), help="folder for the picture")
folder = parser.parse_known_args()[0].out
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "19_one_to_many.png")
print(f"wrote {folder / '19_one_to_many.png'}")
