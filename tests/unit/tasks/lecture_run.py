"""A run that learns to say where people are from, in a second: words of one side stand in a joint vocabulary too."""

from regard.config.read import parse_assignments
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import compose
from regard.tasks.translation.train import train_translator
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.training.copying import Silent

PEOPLE = {"Yo soy": "I am", "Él es": "He is", "Ana es": "Ana is", "Ella es": "She is", "Tú eres": "You are"}
PLACES = {"Canadá": "Canada", "Francia": "France", "Perú": "Peru", "México": "Mexico", "Japón": "Japan"}
FORK = "¿Me puedes traer un tenedor?", "Can you bring me a fork?"
HELD_OUT = ("Ella es de Perú", "She is from Peru"), ("Tú eres de Japón", "You are from Japan")
SETTINGS = [
    "train.steps=150",
    "train.validate_every=150",
    "train.threads=1",
    "train.batch_tokens=400",
    "train.schedule.rate=0.02",
    "train.schedule.warm_up=10",
    "model.embedding_size=16",
    "model.hidden_size=32",
    "model.dropout=0",
    "tokenizer.min_frequency=1",
]


def train_lectures(folder, *more, kind="word", preset="bahdanau"):
    """Train on all of these sentences but a few, and give the run's folder."""
    said = [(f"{who} de {place}", f"{PEOPLE[who]} from {PLACES[place]}") for who in PEOPLE for place in PLACES]
    said = [pair for pair in [*said, FORK] if pair not in HELD_OUT]
    data = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in (("", said), ("valid_", HELD_OUT)):
        for side, number in (("source", 0), ("target", 1)):
            path = folder / f"{name}{side}.txt"
            path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
            data[f"{name}{side}"] = str(path)
    corpus = gather_pairs(data)
    assignments = parse_assignments([*SETTINGS, f"tokenizer.kind={kind}", *more])
    config = compose(assignments | {"data": corpus.data}, corpus.size, name=preset)
    run_folder = RunFolder(folder / "run")
    run_folder.begin(config, corpus.fingerprint())
    train_translator(config, corpus, Run(folder=run_folder, command="regard train …", watcher=Silent()))
    return folder / "run"
