"""The task `language`: a text in, a language model out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError, brief, with_article
from regard.tasks.language.settings import LanguageConfig, compose_language
from regard.tasks.task import Count, Gathered, Table, Task, side_name

if TYPE_CHECKING:
    from regard.tasks.language.data import TextCorpus
    from regard.tasks.language.model import LanguageModel
    from regard.training.run import Run, Trained

PRESETS = {
    "bag": "how frequent a token is, and nothing else",
    "ngram": "the last four tokens, counted (modified Kneser-Ney)",
    "feed-forward": "the last five tokens, as vectors (Bengio et al. 2003)",
    "rnn": "a state carried from token to token",
    "lstm": "the same, of an LSTM; the default",
    "gru": "the same, of a GRU",
    "rnn-attention": "the state, and attention to its past states (Daniluk et al. 2017)",
    "gru-attention": "the same, of a GRU",
    "lstm-attention": "the same, of an LSTM",
    "transformer": "all tokens of a window, by causal self-attention",
}


def _compose(chosen: Table, size: None, preset: str) -> LanguageConfig:
    """Read the settings; `data.corpus`, as other tasks call their data, is the text."""
    del size  # no setting follows from it
    data = dict(chosen.get("data", {}))
    if "corpus" in data:
        corpus = data.pop("corpus")
        if data.setdefault("text", corpus) != corpus:
            raise ArgumentError(
                f"data.text: must be left out with data.corpus, which is the text too; received {brief(data['text'])} "
                f"and {brief(corpus)}."
            )
    return compose_language({**chosen, "data": data}, name=preset)


def _gather(config: LanguageConfig, chosen: Table, count: Count) -> "Gathered[TextCorpus, None]":
    from regard.tasks.language.data import gather_text

    del chosen
    corpus = gather_text(config.data, count=count)
    return Gathered(corpus=corpus, size=None, fingerprint=lambda: corpus.fingerprint)


def _describe(config: LanguageConfig, corpus: "TextCorpus") -> str:
    return (
        f"{corpus.train.size.characters:,} characters to train on, {corpus.valid.size.characters:,} to validate "
        f"on; {with_article(config.model.kind)} model of {config.tokenizer.kind} tokens"
    )


def _train(config: LanguageConfig, corpus: "TextCorpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.language import train

    return train.train_language_model(config, corpus, run, count=count)


def _conclude(trained: "Trained", side: str) -> str:
    figures = trained.figures
    unknown = f", {figures[f'{side}_unknown']:,.0f} of {figures[f'{side}_tokens']:,.0f} unknown"
    return (
        f"perplexity {figures[f'{side}_perplexity']:,.2f} a token, "
        f"{figures[f'{side}_bits_per_character']:.3f} bits a character ({side_name(side)}; tokens: "
        f"{trained.tokenization}{unknown if figures[f'{side}_unknown'] else ''}); "
        f"{figures['tokens']:,.0f} tokens in {figures['seconds']:,.0f} s"
    )


def _load(path: str | Path, *, device: Any = "cpu") -> "LanguageModel":
    from regard.tasks.language.model import load_language

    return load_language(path, device=device)


TASK = Task(
    name="language",
    model="a language model",
    command="regard generate",
    summary="a text in, a language model out",
    settings=LanguageConfig,
    presets=PRESETS,
    typical=None,
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=_conclude,
    load=_load,
    needs_data=lambda config: False,
    opening=lambda config: "reading the text",
    counted="lines",
    several=True,
    starts=True,
)
