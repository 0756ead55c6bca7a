"""Train a translator: from pairs and settings to a model folder, a card and a report."""

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from regard import __version__
from regard.config.model import RecurrentSpec
from regard.config.schema import Config
from regard.config.show import show_settings
from regard.errors import with_article
from regard.evaluation.bleu import score
from regard.models.build import Model, build_model, count_parameters
from regard.models.folder import save_model
from regard.models.initialize import start_from_counts
from regard.tasks.card import TRANSLATE, Card, write_card
from regard.tasks.encoding import TrainingFiles
from regard.tasks.lengths import check_lengths
from regard.tasks.pairs import Corpus
from regard.tasks.report_page import make_page
from regard.tasks.run import Run, Trained
from regard.tasks.translate import translate
from regard.tasks.translation_job import TranslationJob
from regard.tasks.vocabulary import count_tokens, find_tokenizers
from regard.training.metrics import read_metrics
from regard.training.state import State
from regard.training.streams import seed_streams

#: Told what is being done, and how many pairs are done.
Count = Callable[[str, int], None]


def train_translator(config: Config, corpus: Corpus, run: Run, *, count: Count | None = None) -> Trained:
    """Train, or go on, and write the model folder, its card and the report.

    A run that is finished gives its figures again. `count` is told how far the work before training is.
    """
    signature = describe(config)
    if (found := run.figures_again()) is not None:
        return Trained(run.folder, found, signature)
    files = TrainingFiles(folder=run.folder.data, count=partial(count, "encoding the data") if count else None)
    tokenizers = find_tokenizers(config, corpus, kept=run.folder.data / "tokenizers.json")
    job = TranslationJob(corpus.train, corpus.valid, tokenizers, config.train, group=run.group, files=files)
    check_lengths(config.model, job, corpus)
    seed_streams(config.train.seed)
    model = build_model(
        config.model, source_vocabulary=tokenizers.source.size, target_vocabulary=tokenizers.target.size
    )
    start_from_counts(model.output, count_tokens(corpus.train, tokenizers.target))
    state = run.train(model, job, config.train)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}

    def save(folder: Path) -> None:
        save_model(model, config.model, folder, **sizes)
        tokenizers.save(folder)
        job.untrained(corpus.train).save(folder)

    run.put_model(save)
    figures = run.finish(
        lambda: _measure(model, job, corpus, state),
        figures=dict,
        page=lambda figures: _page(config, corpus, run, figures),
        card=lambda figures: _card(config, corpus, run, figures),
        job=job,
    )
    return Trained(run.folder, figures, signature)


def describe(config: Config) -> str:
    """Give the signature that results carry.

    >>> describe(Config())
    'task:translation|data:|model:recurrent|score:additive|seed:1|version:0.1.0'
    """
    spec = config.model
    compared = spec.attention.kind if isinstance(spec, RecurrentSpec) else spec.score
    kinds = f"task:translation|data:{config.data.name.strip(' +')}|model:{spec.kind}|score:{compared}"
    return f"{kinds}|seed:{config.train.seed}|version:{__version__}"


@torch.no_grad()
def _measure(model: Model, job: TranslationJob, corpus: Corpus, state: State) -> dict[str, float]:
    """Measure the result once more on the validation pairs, and on the test pairs where there are any."""
    found = job.validate(model)
    figures = {
        "valid_perplexity": math.exp(min(found.loss, 50.0)),
        "valid_bleu": found.figures["bleu"],
        "valid_chrf": found.figures["chrf"],
    }
    if corpus.test:
        hypotheses = translate(
            model,
            job.tokenizers,
            [pair.source for pair in corpus.test],
            batch_tokens=job.at_once,
        )
        scores = score(hypotheses, [pair.target for pair in corpus.test])
        figures |= {"test_bleu": scores.bleu, "test_chrf": scores.chrf}
    counts = {"parameters": count_parameters(model), "steps": state.step, "tokens": state.tokens}
    return figures | counts | {"seconds": state.seconds}


def _data(config: Config, corpus: Corpus) -> str:
    return (
        f"{config.data.name}: {len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, "
        f"{len(corpus.test):,} to test with."
    )


def _page(config: Config, corpus: Corpus, run: Run, figures: dict[str, float]) -> str:
    return make_page(
        title=f"Translator trained on {config.data.name}",
        figures={"data": _data(config, corpus), **_told(figures)},
        metrics=read_metrics(run.folder.metrics),
        config=show_settings(config, help=False),
        command=run.command,
        signature=describe(config),
    )


def _card(config: Config, corpus: Corpus, run: Run, figures: dict[str, float]) -> str:
    card = Card(
        title=f"Translator trained on {config.data.name}",
        summary=f"{with_article(config.model.kind).capitalize()} model of {figures['parameters']:,} parameters, "
        f"trained with regard {__version__} for {figures['steps']:,} steps.",
        data=_data(config, corpus),
        license=config.data.license,
        figures=_told(figures),
        command=run.command,
        signature=describe(config),
        folder=str(run.folder.model),
        use=TRANSLATE,
    )
    return write_card(card)


def _told(figures: dict[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    names = {
        "test_bleu": "BLEU, test",
        "test_chrf": "chrF, test",
        "valid_bleu": "BLEU, validation",
        "valid_chrf": "chrF, validation",
        "valid_perplexity": "perplexity a token, validation",
        "parameters": "parameters",
        "steps": "steps",
        "tokens": "target tokens seen",
    }
    told = {
        text: f"{figures[name]:,.2f}" if name.startswith(("test", "valid")) else f"{figures[name]:,.0f}"
        for name, text in names.items()
        if name in figures
    }
    return told | {"time": time.strftime("%H:%M:%S", time.gmtime(figures["seconds"]))}
