"""A run folder with a model that has learned nothing: what evaluation needs, in no time."""

import torch

from regard.config.read import parse_assignments
from regard.data.text.tokenizer_training import train_tokenizers
from regard.models.folder import save_model
from regard.models.sequence.build import build_model
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import compose
from regard.training.run_folder import RunFolder


def write_files(folder, count=300):
    """Write two plain files of sentences of 4 to 15 words, and give them as settings of `data`."""
    folder.mkdir(exist_ok=True)
    (folder / "a.es").write_text("".join(f"frase{' muy' * (n % 12)} número {n} aquí.\n" for n in range(count)))
    (folder / "a.en").write_text("".join(f"sentence{' very' * (n % 12)} number {n} here.\n" for n in range(count)))
    return {"source": str(folder / "a.es"), "target": str(folder / "a.en")}


def make_run(folder, data, *, preset="bahdanau"):
    """Write config.toml and a random model of 16 features."""
    corpus = gather_pairs(data)
    small = parse_assignments(["model.embedding_size=16", "model.hidden_size=16"])
    config = compose(small | {"data": corpus.data}, corpus.size, name=preset)
    run = RunFolder(folder)
    run.begin(config, corpus.fingerprint())
    tokenizers = train_tokenizers(corpus.train, config.tokenizer)
    torch.manual_seed(0)
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}
    save_model(build_model(config.model, **sizes), config.model, run.model, **sizes)
    tokenizers.save(run.model)
    return run
