"""Train a translator: from pairs and settings to a model folder, a card and a report."""

import math
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple, assert_never

import torch

from regard import __version__
from regard.config.model import NetworkSpec, RecurrentSpec, StatisticalSpec, TransformerSpec
from regard.config.show import show_settings
from regard.data.batches.pairs import Examples
from regard.data.corpora.pair import Pair
from regard.data.text.special import END
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.errors import with_article
from regard.evaluation.bleu import bleu_signature, score
from regard.evaluation.scoring import Scoring
from regard.models.folder import read_config, save_model
from regard.models.initialize import start_from_counts
from regard.models.sequence.build import Model, TranslationModel, build_model, count_parameters
from regard.models.statistical.counts import count_translator
from regard.pretrained.shipped import read_model, shipped_folder
from regard.tasks.card import TRANSLATE, Card, write_card
from regard.tasks.page import Report
from regard.tasks.start import fill_from, find_start
from regard.tasks.translation.data import Corpus
from regard.tasks.translation.encoding import TrainingFiles
from regard.tasks.translation.job import GUIDED_HEAD, TranslationJob, scoring_for
from regard.tasks.translation.lengths import check_lengths
from regard.tasks.translation.model import Translator
from regard.tasks.translation.page import make_page
from regard.tasks.translation.settings import Config, TranslationTrain
from regard.tasks.translation.tokenizers import count_tokens, find_tokenizers
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.streams import seed_streams

#: Told what is being done, and how many pairs are done.
Count = Callable[[str, int], None]


def train_translator(config: Config, corpus: Corpus, run: Run, *, count: Count | None = None) -> Trained:
    """Train, or go on, and write the model folder, its card and the report.

    A run that is finished gives its figures again. `count` receives how far the work before training is.
    """
    signature = describe(config)
    if (result := run.figures_again()) is not None:
        scoring = scoring_for(corpus.valid, TokenizerPair.load(run.folder.model), config.train)
        return Trained(run.folder, result, signature, scored=bleu_signature(scoring))
    start = find_start(config, "translate", run)
    tokenizers = find_tokenizers(config, corpus, kept=run.folder.data / "tokenizers.json", start=start)
    scoring = scoring_for(corpus.valid, tokenizers, config.train)
    _note_scoring(scoring, config.train, run)
    if isinstance(config.model, StatisticalSpec):
        fitted = _count(config.model, corpus, tokenizers, run)
    else:
        fitted = _train(config, config.model, corpus, tokenizers, run, count, start)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    run.put_model(
        partial(_save, config, fitted.model, tokenizers, lambda: fitted.untrained, _guided_head(config, start))
    )
    scored = bleu_signature(scoring)
    figures = run.finish(
        lambda: _measure(fitted, corpus, tokenizers, scoring),
        figures=dict,
        page=lambda figures: _page(config, corpus, run, figures, scored),
        card=lambda figures: _card(config, corpus, run, figures, scored),
        job=fitted.job,
    )
    return Trained(run.folder, figures, signature, scored=scored)


def _note_scoring(scoring: Scoring, settings: TranslationTrain, run: Run) -> None:
    """Note once how translations are scored, where that is not sacrebleu's own way and was not chosen."""
    if settings.tokenize == "auto" and scoring.tokenize == "none":
        run.watcher.noted(
            "The references are tokenized: BLEU takes them as they are (tok:none). For plain text, "
            'train.tokenize = "13a".'
        )
    if settings.case == "auto" and scoring.lowercase:
        run.watcher.noted("The vocabulary has no upper case: BLEU and chrF are scored without case (case:lc).")


def _save(
    config: Config,
    model: TranslationModel,
    tokenizers: TokenizerPair,
    untrained: Callable[[], Untrained],
    guided_head: int | None,
    folder: Path,
) -> None:
    source, target = tokenizers.source.size, tokenizers.target.size
    save_model(
        model,
        config.model,
        folder,
        source_vocabulary=source,
        target_vocabulary=target,
        guided_head=guided_head,
    )
    tokenizers.save(folder)
    untrained().save(folder)


def _guided_head(config: Config, start: Path | None) -> int | None:
    """Give the head that learns word links, or that had learned them in the model which the run starts from."""
    if config.train.guided_alignment and isinstance(config.model, TransformerSpec):
        return GUIDED_HEAD
    return None if start is None else read_config(start).guided_head


class _Fitted(NamedTuple):
    model: TranslationModel
    spent: dict[str, float]
    """Parameters, steps, tokens and seconds."""
    untrained: Untrained
    job: TranslationJob | None = None
    """None where there are no steps: a model that counts."""


def _train(
    config: Config,
    spec: NetworkSpec,
    corpus: Corpus,
    tokenizers: TokenizerPair,
    run: Run,
    count: Count | None,
    start: Path | None,
) -> _Fitted:
    """Train a network by gradients, or go on; from the parameters of the model in `start` where there is one."""
    files = TrainingFiles(folder=run.folder.data, count=partial(count, "encoding the data") if count else None)
    job = TranslationJob(corpus.train, corpus.valid, tokenizers, config.train, group=run.group, files=files)
    check_lengths(spec, job, corpus)
    seed_streams(config.train.seed)
    model = build_model(spec, source_vocabulary=tokenizers.source.size, target_vocabulary=tokenizers.target.size)
    start_from_counts(model.output, count_tokens(corpus.train, tokenizers.target))
    if start is not None:
        fill_from(model, start)

    def untrained() -> Untrained:
        here = job.untrained(corpus.train)
        return Untrained.common([here, Untrained.load(start, tokenizers)]) if start is not None else here

    save = partial(_save, config, model, tokenizers, cache(untrained), _guided_head(config, start))
    state = run.train(model, job, config.train, save=save)
    spent = {"parameters": count_parameters(model), "steps": state.step, "tokens": state.tokens}
    return _Fitted(model, spent | {"seconds": state.seconds}, untrained(), job)


def _count(spec: StatisticalSpec, corpus: Corpus, tokenizers: TokenizerPair, run: Run) -> _Fitted:
    """Count the words of the pairs, and the sequences of the targets."""
    begun = time.perf_counter()
    run.watcher.noted(f"counting {len(corpus.train):,} pairs")
    source = tokenizers.source.encode_batch(pair.source for pair in corpus.train)
    target = tokenizers.target.encode_batch(pair.target for pair in corpus.train)
    model = count_translator(
        spec,
        [source[index].tolist() for index in range(len(source))],
        [target[index].tolist() for index in range(len(target))],
        source_vocabulary=tokenizers.source.size,
        target_vocabulary=tokenizers.target.size,
        end=END,
    ).eval()
    spent: dict[str, float] = {"parameters": model.num_counts, "tokens": len(target.values) + len(target)}
    untrained = Untrained.of_corpora([Examples(source=source, target=target)], tokenizers)
    return _Fitted(model, spent | {"seconds": time.perf_counter() - begun}, untrained)


def describe(config: Config) -> str:
    """Give the signature that results carry.

    >>> describe(Config())
    'task:translation|data:|model:recurrent|score:additive|seed:1|version:0.1.0'
    """
    spec = config.model
    match spec:
        case RecurrentSpec():
            compared: str = spec.attention.kind
        case TransformerSpec():
            compared = spec.score
        case StatisticalSpec():
            compared = f"ibm-1+{spec.order}-gram"
        case _:
            assert_never(spec)
    kinds = f"task:translation|data:{config.data.name.strip(' +')}|model:{spec.kind}|score:{compared}"
    return f"{kinds}|seed:{config.train.seed}|version:{__version__}"


@torch.no_grad()
def _measure(fitted: _Fitted, corpus: Corpus, tokenizers: TokenizerPair, scoring: Scoring) -> dict[str, float]:
    """Measure the result once more on the validation pairs, and on the test pairs where there are any."""
    job, model = fitted.job, fitted.model
    if job is None:
        figures = _measure_counted(Translator(model, tokenizers, unknown="keep"), corpus, scoring)
    else:
        result = job.validate(model)
        figures = {
            "valid_perplexity": math.exp(min(result.loss, 50.0)),
            "valid_bleu": result.figures["bleu"],
            "valid_chrf": result.figures["chrf"],
        }
        if corpus.test:
            assert isinstance(model, Model)
            figures |= _score("test", job.translate(model, _sources(corpus.test)), corpus.test, scoring)
    return figures | fitted.spent


def _measure_counted(translator: Translator, corpus: Corpus, scoring: Scoring) -> dict[str, float]:
    """Measure a model that counts, by beam search: greedily, it commits to a word before it knows the next."""
    result = translator.force(_sources(corpus.valid), [pair.target for pair in corpus.valid])
    log_probabilities = [value for item in result for value in item.hypothesis.log_probabilities]
    figures = {"valid_perplexity": math.exp(min(-math.fsum(log_probabilities) / len(log_probabilities), 50.0))}
    for side, pairs in (("valid", corpus.valid), ("test", corpus.test)):
        if pairs:
            figures |= _score(side, translator.translate(_sources(pairs)), pairs, scoring)
    return figures


def _sources(pairs: Sequence[Pair]) -> list[str]:
    return [pair.source for pair in pairs]


def _score(side: str, hypotheses: Sequence[str], pairs: Sequence[Pair], scoring: Scoring) -> dict[str, float]:
    scores = score(hypotheses, [pair.target for pair in pairs], scoring)
    return {f"{side}_bleu": scores.bleu, f"{side}_chrf": scores.chrf}


def _data(config: Config, corpus: Corpus) -> str:
    return (
        f"{config.data.name}: {len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, "
        f"{len(corpus.test):,} to test with."
    )


def _page(config: Config, corpus: Corpus, run: Run, figures: dict[str, float], scored: str) -> str:
    report = Report(
        title=f"Translator trained on {config.data.name}",
        signature=describe(config),
        figures={"data": _data(config, corpus), **_describe_figures(figures, scored)},
        command=run.command,
        config=show_settings(config, help=False),
    )
    return make_page(report, read_metrics(run.folder.metrics))


def _card(config: Config, corpus: Corpus, run: Run, figures: dict[str, float], scored: str) -> str:
    card = Card(
        title=f"Translator trained on {config.data.name}",
        summary=_summary(config, figures),
        data=_data(config, corpus) + _origin(config),
        license=config.data.license,
        figures=_describe_figures(figures, scored),
        command=run.command,
        signature=describe(config),
        folder=str(run.folder.model),
        use=TRANSLATE,
        checksum=run.folder.fingerprint(),
        languages=config.data.named_languages,
    )
    return write_card(card)


def _origin(config: Config) -> str:
    """Name the model that a run started from, and whom that owes its data to where it came with the package."""
    if not config.train.start:
        return ""
    folder = shipped_folder(config.train.start)
    credit = "" if folder is None else f" {read_model(folder).credit}"
    return f" It started from the parameters of {config.train.start}.{credit}"


def _summary(config: Config, figures: dict[str, float]) -> str:
    model, size = f"{with_article(config.model.kind).capitalize()} model", figures["parameters"]
    if isinstance(config.model, StatisticalSpec):
        return f"{model} of {size:,} counts, made with regard {__version__}."
    return f"{model} of {size:,} parameters, trained with regard {__version__} for {figures['steps']:,} steps."


def _describe_figures(figures: dict[str, float], scored: str) -> dict[str, str]:
    """Name the figures for people, and how BLEU was computed."""
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
    shown = {
        label: f"{figures[name]:,.2f}" if name.startswith(("test", "valid")) else f"{figures[name]:,.0f}"
        for name, label in names.items()
        if name in figures
    }
    return shown | {"BLEU is": scored, "time": time.strftime("%H:%M:%S", time.gmtime(figures["seconds"]))}
