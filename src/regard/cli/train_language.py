"""`regard train --task language`: a text in, a language model out."""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.training_run import command_line, joined_run, told_how_it_ended
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.cli.progress import Progress
    from regard.config.language import LanguageConfig
    from regard.tasks.language import TrainedLanguage
    from regard.tasks.run_folder import RunFolder
    from regard.tasks.text_corpus import TextCorpus


def train_language(chosen: Mapping[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train a language model on a text: settings `chosen` over those of `preset`, into the run folder `out`."""
    settings = read_language_settings(chosen, preset)  # mistakes before any work
    from regard.cli.progress import Progress
    from regard.tasks.run_folder import RunFolder
    from regard.tasks.text_corpus import gather_text

    leads = os.environ.get("RANK", "0") == "0"
    progress = Progress(quiet=not leads)
    with told_how_it_ended(out, progress):
        progress.say("reading the text")
        corpus = gather_text(settings.data, count=partial(progress.count, unit="lines"))
        progress.say(
            f"{corpus.train.size.characters:,} characters to train on, {corpus.valid.size.characters:,} to validate "
            f"on; a {settings.model.kind} model of {settings.tokenizer.kind} tokens"
        )
        _report(_train(settings, corpus, RunFolder(out), progress), as_json=as_json)


def show_language_config(chosen: Mapping[str, Any], preset: str) -> str:
    """Give every setting with its help, as TOML."""
    from regard.config.show import show_settings

    return show_settings(read_language_settings(chosen, preset))


def read_language_settings(chosen: Mapping[str, Any], preset: str) -> "LanguageConfig":
    """Read the settings; `--data` of the command line, data.corpus, is the text."""
    from regard.config.language import compose_language

    data = dict(chosen.get("data", {}))
    for name in ("source", "target"):
        if data.get(name):
            raise ArgumentError(f"`--{name}` must be left out for a language model, which has one text: --data FILE.")
    if "corpus" in data:
        data = {"text": data.pop("corpus"), **data}
    return compose_language({**chosen, "data": data}, name=preset)


def _train(
    settings: "LanguageConfig", corpus: "TextCorpus", folder: "RunFolder", progress: "Progress"
) -> "TrainedLanguage":
    from regard.tasks.language import train_language_model

    with joined_run(settings, folder, device=settings.train.device, fingerprint=corpus.fingerprint) as joined:
        return train_language_model(
            settings,
            corpus,
            folder,
            command=command_line(),
            watcher=progress,
            group=joined.group,
            interruption=joined.interruption,
            count=partial(progress.count, unit="lines"),
        )


def _report(trained: "TrainedLanguage", *, as_json: bool) -> None:
    if not trained.figures:
        return  # not the first of several processes
    figures, folder = trained.figures, trained.folder
    if as_json:
        places = {"model": str(folder.model), "report": str(folder.report), "metrics": str(folder.metrics)}
        told = {"tokenization": trained.tokenization, "signature": trained.signature}
        print(json.dumps({**figures, **places, **told}))
        return
    side, name = ("test", "test") if "test_loss" in figures else ("valid", "validation")
    unknown = f", {figures[f'{side}_unknown']:,.0f} of {figures[f'{side}_tokens']:,.0f} unknown"
    print(
        f"perplexity {figures[f'{side}_perplexity']:,.2f} a token, "
        f"{figures[f'{side}_bits_per_character']:.3f} bits a character ({name}; tokens: {trained.tokenization}"
        f"{unknown if figures[f'{side}_unknown'] else ''}); "
        f"{figures['tokens']:,.0f} tokens in {figures['seconds']:,.0f} s\n"
        f"model   {folder.model}\nreport  {folder.report}\n{trained.signature}"
    )
