"""`regard train --task language`: a text in, a language model out."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.errors import ArgumentError, RegardError

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
    from regard.errors import Interrupted, TrainingError
    from regard.tasks.run_folder import RunFolder
    from regard.tasks.text_corpus import gather_text
    from regard.training.failure import is_disk_full

    leads = os.environ.get("RANK", "0") == "0"
    progress = Progress(quiet=not leads)
    try:
        progress.say("reading the text")
        corpus = gather_text(settings.data, count=lambda doing, lines: progress.count(doing, lines, unit="lines"))
        progress.say(
            f"{corpus.train.size.characters:,} characters to train on, {corpus.valid.size.characters:,} to validate "
            f"on; a {settings.model.kind} model of {settings.tokenizer.kind} tokens"
        )
        _report(_train(settings, corpus, RunFolder(out), progress), as_json=as_json)
    except Interrupted as stopped:
        progress.say(f"regard: {stopped}")
        raise typer.Exit(128 + stopped.signal) from None
    except TrainingError as error:
        progress.say(f"regard: {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        if not is_disk_full(error):
            raise
        progress.say(f"regard: The disk of {out} must have room for the run; it is full. Make room and start again.")
        raise typer.Exit(1) from None
    finally:
        progress.close()


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
    from regard.training.group import joined_group
    from regard.training.interruption import listening

    with joined_group(settings.train.device) as group, folder.locked() if group.leads else nullcontext():
        problem = ""
        if group.leads:
            try:
                folder.begin(settings, corpus.fingerprint)
            except RegardError as error:
                problem = str(error)
        problem = group.share_text(problem or "-")
        if problem != "-":
            raise ArgumentError(problem)
        progress.say("encoding the text")
        with listening() as interruption:
            return train_language_model(
                settings,
                corpus,
                folder,
                command=_command(),
                watcher=progress,
                group=group,
                interruption=interruption,
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
    print(
        f"perplexity {figures[f'{side}_perplexity']:,.2f} a token, "
        f"{figures[f'{side}_bits_per_character']:.3f} bits a character ({name}; tokens: {trained.tokenization}); "
        f"{figures['tokens']:,.0f} tokens in {figures['seconds']:,.0f} s\n"
        f"model   {folder.model}\nreport  {folder.report}\n{trained.signature}"
    )


def _command() -> str:
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    start = f"torchrun --nproc-per-node={ranks} -m regard" if ranks > 1 else "regard"
    return f"{start} {shlex.join(sys.argv[1:])}"
