"""Train an aligner: from pairs and settings to a model folder, a card and a report."""

import math
import time
from collections.abc import Callable, Mapping
from functools import partial

from regard import __version__
from regard.config.show import show_settings
from regard.errors import with_article
from regard.models.alignment.build import build_aligner
from regard.models.initialize import start_from_counts
from regard.models.sequence.build import count_parameters
from regard.tasks.alignment.job import AlignerScores, AlignmentJob
from regard.tasks.alignment.model import WordAligner
from regard.tasks.alignment.settings import AlignConfig
from regard.tasks.card import Card, Use, write_card
from regard.tasks.page import Report, curves_html, make_report
from regard.tasks.translation.data import Corpus
from regard.tasks.translation.encoding import TrainingFiles
from regard.tasks.translation.tokenizers import count_tokens, find_tokenizers
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.state import State
from regard.training.streams import seed_streams

ALIGN = Use(
    "token-classification",
    "align",
    'align([("...", "...")])[0].links',
    arguments="--source a.txt --target b.txt",
)


def train_aligner(
    config: AlignConfig, corpus: Corpus, run: Run, *, count: Callable[[str, int], None] | None = None
) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_aligner(config)
    if (result := run.figures_again()) is not None:
        return Trained(run.folder, result, signature)
    tokenizers = find_tokenizers(config, corpus, kept=run.folder.data / "tokenizers.json")
    files = TrainingFiles(folder=run.folder.data, count=partial(count, "encoding the data") if count else None)
    job = AlignmentJob(corpus.train, corpus.valid, tokenizers, config.train, group=run.group, files=files)
    seed_streams(config.train.seed)
    model = build_aligner(
        config.model, source_vocabulary=tokenizers.source.size, target_vocabulary=tokenizers.target.size
    )
    start_from_counts(model.to_target.output, count_tokens(corpus.train, tokenizers.target))
    start_from_counts(model.to_source.output, count_tokens(corpus.train, tokenizers.source, side="source"))
    aligner = WordAligner(model, tokenizers, config.model)
    state = run.train(model, job, config.train, save=aligner.save)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    run.put_model(aligner.save)
    figures = run.finish(
        lambda: _measure(aligner, corpus, job, state),
        figures=dict,
        page=lambda figures: _page(config, corpus, run, figures),
        card=lambda figures: _card(config, corpus, run, figures),
        job=job,
    )
    return Trained(run.folder, figures, signature)


def _measure(aligner: WordAligner, corpus: Corpus, job: AlignmentJob, state: State) -> dict[str, float]:
    sides = {"valid": corpus.valid, **({"test": corpus.test} if corpus.test else {})}
    figures: dict[str, float] = {}
    for side, pairs in sides.items():
        figures |= aligner_figures(side, job.score(aligner.model, pairs))
    return figures | {
        "parameters": count_parameters(aligner.model),
        "steps": state.step,
        "tokens": state.tokens,
        "seconds": state.seconds,
    }


def aligner_figures(side: str, scores: AlignerScores) -> dict[str, float]:
    """Name the figures of a side."""
    figures = {
        f"{side}_perplexity": math.exp(min(scores.cross_entropy, 50.0)),
        f"{side}_agreement": scores.agreement,
    }
    if scores.links is None:
        return figures
    named = {"error": scores.links.error, "precision": scores.links.precision, "recall": scores.links.recall}
    return figures | {f"{side}_{name}": value for name, value in named.items()}


def describe_aligner(config: AlignConfig) -> str:
    """Give the signature that results carry.

    >>> describe_aligner(AlignConfig())
    'task:align|data:|model:mask-align|seed:1|version:0.1.0'
    """
    name = config.data.name.strip(" +")
    return f"task:align|data:{name}|model:{config.model.kind}|seed:{config.train.seed}|version:{__version__}"


def describe_aligner_figures(figures: Mapping[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    shown = {}
    for side, called in (("test", "test"), ("valid", "validation")):
        for name in ("error", "precision", "recall", "agreement"):
            if f"{side}_{name}" in figures:
                label = {"error": "alignment error", "agreement": "agreement of both directions"}.get(name, name)
                shown[f"{label}, {called}"] = f"{100 * figures[f'{side}_{name}']:.2f} %"
        if f"{side}_perplexity" in figures:
            shown[f"perplexity a token, {called}"] = f"{figures[f'{side}_perplexity']:,.2f}"
    counts = {name: f"{figures[name]:,.0f}" for name in ("parameters", "steps")}
    return {
        **shown,
        **counts,
        "target tokens seen": f"{figures['tokens']:,.0f}",
        "time": time.strftime("%H:%M:%S", time.gmtime(figures["seconds"])),
    }


def _data(config: AlignConfig, corpus: Corpus) -> str:
    return (
        f"{config.data.name}: {len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, "
        f"{len(corpus.test):,} to test with."
    )


def _page(config: AlignConfig, corpus: Corpus, run: Run, figures: Mapping[str, float]) -> str:
    report = Report(
        title=f"Aligner trained on {config.data.name}",
        signature=describe_aligner(config),
        figures=describe_aligner_figures(figures),
        command=run.command,
        config=show_settings(config, help=False),
        data=_data(config, corpus),
    )
    curves = curves_html(read_metrics(run.folder.metrics), measure="agreement", called="agreement of both directions")
    return make_report(report, [f"<h2>Curves</h2>{curves}"])


def _card(config: AlignConfig, corpus: Corpus, run: Run, figures: Mapping[str, float]) -> str:
    card = Card(
        title=f"Aligner trained on {config.data.name}",
        summary=f"{with_article(config.model.kind).capitalize()} model of {figures['parameters']:,.0f} parameters that "
        f"links the words of sentence pairs, trained with regard {__version__} for {figures['steps']:,.0f} steps.",
        data=_data(config, corpus),
        license=config.data.license,
        figures=describe_aligner_figures(figures),
        command=run.command,
        signature=describe_aligner(config),
        folder=str(run.folder.model),
        use=ALIGN,
        checksum=run.folder.fingerprint(),
        languages=config.data.named_languages,
        note="The two files have a line for each pair.",
    )
    return write_card(card)
