"""Train to describe pictures: from pictures and settings to a model folder, a card and a report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import torch

from regard import __version__
from regard.config.show import show_settings
from regard.data.corpora.catalogue import languages_of, license_of
from regard.data.images.pixels import color_statistics
from regard.data.scenes.sides import CaptionSide
from regard.data.text.tokenizer_training import train_tokenizer
from regard.models.sequence.build import count_parameters
from regard.models.vision.build_captions import build_caption_model
from regard.tasks.captions.data import CaptionCorpus
from regard.tasks.captions.job import CaptionJob, CaptionScores, EncodedCaptions
from regard.tasks.captions.model import Caption, Captioner
from regard.tasks.captions.settings import CaptionConfig
from regard.tasks.card import Card, Use, write_card
from regard.tasks.page import Report, curves_html, make_html, make_report
from regard.tasks.questions.train import SHOWN, TOKENS
from regard.tasks.word_maps import CAVEAT
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.state import State
from regard.training.streams import seed_streams

TITLE = "Captions for pictures"
CAPTION = Use("image-to-text", "caption", 'caption("picture.png")[0].text')


def train_captions(config: CaptionConfig, corpus: CaptionCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_captions(config)
    if (result := run.figures_again()) is not None:
        return Trained(run.folder, result, signature)
    captioner = _fresh(config, corpus)
    train, valid, test = (
        EncodedCaptions(side, captioner.tokenizer, max_length=config.data.max_length, device=run.group.device)
        for side in (corpus.train, corpus.valid, corpus.test)
    )
    job = CaptionJob(train, valid, config.train, group=run.group)
    state = run.train(
        captioner.model, job, config.train, shorter="smaller pictures (data.image_size)", save=captioner.save
    )
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    run.put_model(captioner.save)
    figures = run.finish(
        lambda: _measure(
            captioner, corpus, job, {"valid": valid, **({"test": test} if len(corpus.test) else {})}, state
        ),
        figures=dict,
        page=lambda figures: _page(config, corpus, run, captioner, figures),
        card=lambda figures: _card(config, corpus, run, figures),
        job=job,
    )
    return Trained(run.folder, figures, signature)


def _measure(
    captioner: Captioner,
    corpus: CaptionCorpus,
    job: CaptionJob,
    sides: Mapping[str, EncodedCaptions],
    state: State,
) -> dict[str, float]:
    scores = {name: job.score(captioner.model, side) for name, side in sides.items()}
    return caption_figures(corpus, scores) | {
        "words": captioner.tokenizer.size,
        "parameters": count_parameters(captioner.model),
        "steps": state.step,
        "step_seconds": state.seconds / max(1, state.step),
        "seconds": state.seconds,
    }


def describe_captions(config: CaptionConfig) -> str:
    """Give the signature that results carry.

    >>> describe_captions(CaptionConfig())
    'task:captions|data:|model:residual|seed:1|version:0.1.0'
    """
    return (
        f"task:captions|data:{config.data.corpus}|model:{config.model.image.kind}|seed:{config.train.seed}"
        f"|version:{__version__}"
    )


def caption_figures(corpus: CaptionCorpus, scores: Mapping[str, CaptionScores]) -> dict[str, float]:
    """Name the figures of each side, beside the share that the commonest training caption gets right."""
    commonest = Counter(corpus.train.captions).most_common(1)[0][0]
    figures: dict[str, float] = {}
    for side, item in scores.items():
        captions = (corpus.valid if side == "valid" else corpus.test).captions
        figures |= {
            f"{side}_exact": item.exact,
            f"{side}_bleu": item.bleu,
            f"{side}_majority": captions.count(commonest) / len(captions),
        }
        if item.answers is not None:
            figures[f"{side}_answers"] = item.answers
    return figures


def describe_caption_figures(figures: Mapping[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    shown = {}
    for side, name in (("test", "test"), ("valid", "validation")):
        if f"{side}_exact" not in figures:
            continue
        shown[f"right word for word, {name}"] = f"{100 * figures[f'{side}_exact']:.2f} %"
        if f"{side}_answers" in figures:
            shown[f"answers right word for word, {name}"] = f"{100 * figures[f'{side}_answers']:.2f} %"
        shown[f"BLEU, {name}"] = f"{figures[f'{side}_bleu']:.2f}"
        shown[f"always the commonest caption, {name}"] = f"{100 * figures[f'{side}_majority']:.2f} %"
    return shown | {name: f"{figures[name]:,.0f}" for name in ("words", "parameters", "steps", "seconds")}


def captions_page(captions: Sequence[tuple[Caption, str | None]], *, title: str) -> str:
    """Write a page of captions with a map for each word, beside the right ones where they are known."""
    shown = "".join(caption_html(item, gold) for item, gold in captions)
    return make_html(title, [f"<h1>{escape(title)}</h1><p><small>{escape(CAVEAT)}</small></p>{shown}"])


def caption_html(caption: Caption, gold: str | None = None, *, question: str = "") -> str:
    """Draw one caption, or the answer to a question, as part of a page."""
    mistake = f"<p>It is: {escape(gold)}</p>" if gold is not None and gold != caption.text else ""
    alt = f"{caption.text}: what the model attends to for each word."
    heading = f"<p>{escape(question)}</p>" if question else ""
    return f"<section>{heading}<h2>{escape(caption.text)}</h2>{mistake}{caption.attention.html(alt=alt)}</section>"


def _fresh(config: CaptionConfig, corpus: CaptionCorpus) -> Captioner:
    tokenizer = train_tokenizer([*corpus.train.captions, *filter(None, corpus.train.prompts)], TOKENS)
    seed_streams(config.train.seed)
    size = corpus.train.pictures.shape[-1]
    model = build_caption_model(config.model, vocabulary_size=tokenizer.size, image_size=size)
    mean, spread = color_statistics(corpus.train.pictures)
    model.places.encoder.standardize.fit(mean=mean, spread=spread)
    answers, most = config.data.answers > 0, config.data.max_length
    return Captioner(model, tokenizer, config.model, image_size=size, max_length=most, answers=answers)


def _data(config: CaptionConfig, corpus: CaptionCorpus) -> str:
    train, valid, test = (len(side.pictures) for side in (corpus.train, corpus.valid, corpus.test))
    answered = f", and up to {config.data.answers} questions answered in a sentence" if config.data.answers else ""
    return (
        f"{config.data.corpus}: {train:,} pictures to train on, {valid:,} to validate on, {test:,} to test with, each "
        f"with a caption{answered}."
    )


def _page(
    config: CaptionConfig, corpus: CaptionCorpus, run: Run, captioner: Captioner, figures: dict[str, float]
) -> str:
    report = Report(
        title=TITLE,
        signature=describe_captions(config),
        figures=describe_caption_figures(figures),
        command=run.command,
        config=show_settings(config, help=False),
        data=_data(config, corpus),
    )
    curves = curves_html(read_metrics(run.folder.metrics), measure="exact", called="right word for word", unit="word")
    shown = _examples(captioner, corpus.test if len(corpus.test) else corpus.valid)
    sections = [f"<h2>Curves</h2>{curves}<h2>Pictures</h2><p><small>{escape(CAVEAT)}</small></p>", *shown]
    return make_report(report, sections)


def _card(config: CaptionConfig, corpus: CaptionCorpus, run: Run, figures: dict[str, float]) -> str:
    card = Card(
        title=TITLE,
        summary=f"A Transformer's decoder that attends to the positions of a picture ({config.model.image.kind}); "
        f"{figures['parameters']:,.0f} parameters, trained with regard {__version__} in {figures['steps']:,.0f} steps.",
        data=_data(config, corpus),
        license=license_of(config.data.corpus, config.data.license),
        figures=describe_caption_figures(figures),
        command=run.command,
        signature=describe_captions(config),
        folder=str(run.folder.model),
        use=CAPTION,
        checksum=run.folder.fingerprint(),
        languages=languages_of(config.data.languages, config.data.corpus),
    )
    return write_card(card)


def _examples(captioner: Captioner, side: CaptionSide) -> list[str]:
    shown = []
    for owner, question, gold in list(zip(side.owners, side.prompts, side.captions, strict=True))[:SHOWN]:
        caption = captioner.caption_pixels(torch.from_numpy(side.pictures[owner]), question=question)[0]
        shown.append(caption_html(caption, gold, question=question))
    return shown
