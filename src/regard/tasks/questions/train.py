"""Train on questions about pictures: from pictures and settings to a model folder, a card and a report."""

from collections.abc import Mapping
from typing import NamedTuple

import torch

from regard import __version__
from regard.config.show import show_settings
from regard.data.corpora.catalogue import languages_of, license_of
from regard.data.images.pixels import color_statistics
from regard.data.scenes.sides import QuestionSide
from regard.data.text.tokenizer import Tokenizer
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.evaluation.questions import AnswerScores, BlindBaseline, score_answers
from regard.models.sequence.build import count_parameters
from regard.models.vision.build_questions import build_question_network
from regard.tasks.card import Card, Use, write_card
from regard.tasks.page import Report
from regard.tasks.questions.data import QuestionCorpus
from regard.tasks.questions.job import EncodedQuestions, QuestionJob
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.questions.page import Asking, describe_answer_figures, questions_report
from regard.tasks.questions.settings import QuestionConfig
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.state import State
from regard.training.streams import seed_streams

ASK = Use("visual-question-answering", "ask", 'ask("picture.png", "...").answer')
TOKENS = TokenizerConfig(kind="word", vocabulary_size=30_000, min_frequency=1, lowercase=True)
SHOWN = 6
"""Pictures in the report."""


def train_questions(config: QuestionConfig, corpus: QuestionCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_questions(config)
    if (outcome := run.figures_again()) is not None:
        return Trained(run.folder, outcome, signature)
    tokenizer = train_tokenizer((item.text for item in corpus.train.questions), TOKENS)
    answerer = _fresh(config, corpus, tokenizer)
    train, valid, test = (
        EncodedQuestions(side, tokenizer, corpus.answers, max_length=config.data.max_length, device=run.group.device)
        for side in (corpus.train, corpus.valid, corpus.test)
    )
    job = QuestionJob(train, valid, corpus.answers, config.train, group=run.group)
    state = run.train(
        answerer.model, job, config.train, shorter="smaller pictures (data.image_size)", save=answerer.save
    )
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    sides = {"valid": valid} | ({"test": test} if len(corpus.test) else {})
    run.put_model(answerer.save)
    result = run.finish(
        lambda: _measure(answerer, corpus, job, sides, state),
        figures=lambda result: result.figures,
        page=lambda result: _page(config, corpus, run, answerer, result),
        card=lambda result: _card(config, corpus, run, result),
        job=job,
    )
    return Trained(run.folder, result.figures, signature)


class _Measured(NamedTuple):
    scores: dict[str, AnswerScores]
    figures: dict[str, float]


def _measure(
    answerer: QuestionAnswerer,
    corpus: QuestionCorpus,
    job: QuestionJob,
    sides: Mapping[str, EncodedQuestions],
    state: State,
) -> _Measured:
    scores = {name: job.score(answerer.model, side)[0] for name, side in sides.items()}
    figures = answer_figures(corpus, scores) | {
        "parameters": count_parameters(answerer.model),
        "answers": len(corpus.answers),
        "steps": state.step,
        "step_seconds": state.seconds / max(1, state.step),
        "seconds": state.seconds,
    }
    return _Measured(scores, figures)


def describe_questions(config: QuestionConfig) -> str:
    """Give the signature that results carry.

    >>> describe_questions(QuestionConfig())
    'task:questions|data:|model:residual-positions|seed:1|version:0.1.0'
    """
    return (
        f"task:questions|data:{config.data.corpus}|model:{config.model.image.kind}-{config.model.attention}"
        f"|seed:{config.train.seed}|version:{__version__}"
    )


def answer_figures(corpus: QuestionCorpus, scores: dict[str, AnswerScores]) -> dict[str, float]:
    """Name the figures of each side, such as test_accuracy and test_accuracy_color, with those of two baselines.

    `majority` gives the commonest training answer to everything, `question_only` the commonest to the same question.
    """
    texts, answers = zip(*((item.text, item.answer) for item in corpus.train.questions), strict=True)
    baselines = {
        "majority": BlindBaseline(texts, answers, words=False),
        "question_only": BlindBaseline(texts, answers),
    }
    figures: dict[str, float] = {}
    for side, item in scores.items():
        figures[f"{side}_accuracy"] = item.accuracy
        figures |= {f"{side}_accuracy_{kind}": share for kind, share in item.by_kind.items()}
        for name, blind in baselines.items():
            guessed = _guess(corpus.valid if side == "valid" else corpus.test, blind)
            figures[f"{side}_{name}"] = guessed.accuracy
            figures |= {f"{side}_{name}_{kind}": share for kind, share in guessed.by_kind.items()}
    return figures


def _guess(side: QuestionSide, blind: BlindBaseline) -> AnswerScores:
    questions = side.questions
    return score_answers(
        [blind.answer(item.text) for item in questions],
        [item.answer for item in questions],
        [item.kind for item in questions],
    )


def _fresh(config: QuestionConfig, corpus: QuestionCorpus, tokenizer: Tokenizer) -> QuestionAnswerer:
    seed_streams(config.train.seed)
    size, most = corpus.train.pictures.shape[-1], config.data.max_length
    model = build_question_network(
        config.model, vocabulary_size=tokenizer.size, num_answers=len(corpus.answers), image_size=size
    )
    mean, spread = color_statistics(corpus.train.pictures)
    model.places.encoder.standardize.fit(mean=mean, spread=spread)
    return QuestionAnswerer(model, tokenizer, corpus.answers, config.model, image_size=size, max_length=most)


def _data(config: QuestionConfig, corpus: QuestionCorpus) -> str:
    counts = "; ".join(
        f"{len(side):,} questions about {len(side.pictures):,} pictures to {purpose}"
        for side, purpose in ((corpus.train, "train on"), (corpus.valid, "validate on"), (corpus.test, "test with"))
    )
    return f"{config.data.corpus}: {counts}."


def _page(
    config: QuestionConfig, corpus: QuestionCorpus, run: Run, answerer: QuestionAnswerer, result: _Measured
) -> str:
    side = corpus.test if len(corpus.test) else corpus.valid
    return questions_report(
        Report(
            title=f"Questions about pictures of {config.data.corpus}",
            signature=describe_questions(config),
            figures=describe_answer_figures(result.figures),
            command=run.command,
            config=show_settings(config, help=False),
            data=_data(config, corpus),
        ),
        figures=result.figures,
        scores=result.scores,
        askings=_shown_questions(answerer, side),
        metrics=read_metrics(run.folder.metrics),
    )


def _card(config: QuestionConfig, corpus: QuestionCorpus, run: Run, result: _Measured) -> str:
    figures = result.figures
    card = Card(
        title=f"Questions about pictures of {config.data.corpus}",
        summary=f"Words of a question attend to the positions of a picture ({config.model.image.kind}); "
        f"{figures['parameters']:,.0f} parameters, trained with regard {__version__} in {figures['steps']:,.0f} steps.",
        data=_data(config, corpus),
        license=license_of(config.data.corpus, config.data.license),
        figures=describe_answer_figures(figures),
        command=run.command,
        signature=describe_questions(config),
        folder=str(run.folder.model),
        use=ASK,
        checksum=run.folder.fingerprint(),
        languages=languages_of(config.data.languages, config.data.corpus),
    )
    return write_card(card)


def _shown_questions(answerer: QuestionAnswerer, side: QuestionSide) -> list[Asking]:
    """Ask the first question of each kind about the first pictures, so that each kind is shown."""
    kinds = sorted({item.kind for item in side.questions})
    shown = []
    for number in range(min(SHOWN, len(side.pictures))):
        own = [item for item in side.questions if item.picture == number]
        kind = kinds[number % len(kinds)]
        chosen = next((item for item in own if item.kind == kind), own[0] if own else None)
        if chosen is not None:
            result = answerer.ask_pixels(torch.from_numpy(side.pictures[number]), [chosen.text])[0]
            shown.append(Asking(result, chosen.answer, chosen.kind))
    return shown
