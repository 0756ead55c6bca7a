"""`regard train --task language`: a text in, a language model out."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.training_run import carry_out, is_quiet, named, report_run, told_how_it_ended
from regard.errors import ArgumentError, with_article

if TYPE_CHECKING:
    from regard.config.language import LanguageConfig


def train_language(chosen: Mapping[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train a language model on a text: settings `chosen` over those of `preset`, into the run folder `out`."""
    settings = read_language_settings(chosen, preset)  # mistakes before any work
    from regard.cli.progress import Progress
    from regard.tasks.language.data import gather_text
    from regard.tasks.language.train import TrainedLanguage, train_language_model

    progress = Progress(quiet=is_quiet())
    count = partial(progress.count, unit="lines")
    with told_how_it_ended(out, progress):
        progress.say("reading the text")
        corpus = gather_text(settings.data, count=count)
        progress.say(
            f"{corpus.train.size.characters:,} characters to train on, {corpus.valid.size.characters:,} to validate "
            f"on; {with_article(settings.model.kind)} model of {settings.tokenizer.kind} tokens"
        )
        train = partial(train_language_model, count=count)
        trained: TrainedLanguage = carry_out(
            train, settings, corpus, out, fingerprint=corpus.fingerprint, watcher=progress
        )
        tokenization = trained.tokenization
        report_run(trained, partial(_tell, tokenization), tokenization=tokenization, as_json=as_json)


def print_language_config(chosen: Mapping[str, Any], preset: str) -> None:
    """Show every setting with its help, as TOML."""
    from regard.config.show import show_settings

    print(show_settings(read_language_settings(chosen, preset)))


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


def _tell(tokenization: str, figures: Mapping[str, float], side: str) -> str:
    unknown = f", {figures[f'{side}_unknown']:,.0f} of {figures[f'{side}_tokens']:,.0f} unknown"
    return (
        f"perplexity {figures[f'{side}_perplexity']:,.2f} a token, "
        f"{figures[f'{side}_bits_per_character']:.3f} bits a character ({named(side)}; tokens: {tokenization}"
        f"{unknown if figures[f'{side}_unknown'] else ''}); "
        f"{figures['tokens']:,.0f} tokens in {figures['seconds']:,.0f} s"
    )
