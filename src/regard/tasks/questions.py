"""Train on questions about pictures: from pictures and settings to a model folder, a card and a report."""

import time

import torch

from regard import __version__
from regard.config.picture_data import BUILTIN
from regard.config.questions import QuestionConfig
from regard.config.show import show_settings
from regard.data.images.pixels import color_statistics
from regard.data.scenes.sides import QuestionSide
from regard.data.tokenizer import Tokenizer
from regard.data.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.evaluation.questions import AnswerScores, BlindBaseline, score_answers
from regard.files import write_text
from regard.models.build import count_parameters
from regard.models.vision.build_questions import build_question_network
from regard.tasks.card import Card, Use, write_card
from regard.tasks.question_answerer import QuestionAnswerer
from regard.tasks.question_data import QuestionCorpus
from regard.tasks.question_job import EncodedQuestions, QuestionJob
from regard.tasks.question_page import Asking, questions_report, told_questions
from regard.tasks.run import Run, Trained
from regard.training.failure import needing_room
from regard.training.streams import seed_streams
from regard.training.watch import read_metrics

ASK = Use("visual-question-answering", "ask", 'ask("picture.png", "...").answer')
TOKENS = TokenizerConfig(kind="word", vocabulary_size=30_000, min_frequency=1, lowercase=True)
SHOWN = 6
"""Pictures in the report."""


def train_questions(config: QuestionConfig, corpus: QuestionCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_questions(config)
    if (found := run.figures_again()) is not None:
        return Trained(run.folder, found, signature)
    tokenizer = train_tokenizer((one.text for one in corpus.train.questions), TOKENS)
    answerer = _fresh(config, corpus, tokenizer)
    train, valid, test = (
        EncodedQuestions(side, tokenizer, corpus.answers, max_length=config.data.max_length, device=run.group.device)
        for side in (corpus.train, corpus.valid, corpus.test)
    )
    job = QuestionJob(train, valid, corpus.answers, config.train, group=run.group)
    begun = time.perf_counter()
    state = run.train(answerer.model, job, config.train, shorter="smaller pictures (data.image_size)")
    seconds = time.perf_counter() - begun
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    sides = {"valid": valid} | ({"test": test} if len(corpus.test) else {})
    scores = {name: job.score(answerer.model, side)[0] for name, side in sides.items()}
    figures = answer_figures(corpus, scores) | {
        "parameters": count_parameters(answerer.model),
        "answers": len(corpus.answers),
        "steps": state.step,
        "step_seconds": state.seconds / max(1, state.step),
        "seconds": seconds,
    }
    with needing_room(run.folder.path):
        _write(config, corpus, run, answerer, scores, figures)
    return Trained(run.folder, figures, signature)


def describe_questions(config: QuestionConfig) -> str:
    """Give the signature that results carry.

    >>> describe_questions(QuestionConfig())
    'task:questions|data:|model:residual-places|seed:1|version:0.1.0'
    """
    return (
        f"task:questions|data:{config.data.corpus}|model:{config.model.image.kind}-{config.model.look}"
        f"|seed:{config.train.seed}|version:{__version__}"
    )


def answer_figures(corpus: QuestionCorpus, scores: dict[str, AnswerScores]) -> dict[str, float]:
    """Name the figures of each side, such as test_accuracy and test_accuracy_color, with those of two baselines.

    `majority` says the commonest training answer to everything, `question_only` the commonest to the same question.
    """
    texts, answers = zip(*((one.text, one.answer) for one in corpus.train.questions), strict=True)
    baselines = {
        "majority": BlindBaseline(texts, answers, words=False),
        "question_only": BlindBaseline(texts, answers),
    }
    figures: dict[str, float] = {}
    for side, one in scores.items():
        figures[f"{side}_accuracy"] = one.accuracy
        figures |= {f"{side}_accuracy_{kind}": share for kind, share in one.by_kind.items()}
        for name, blind in baselines.items():
            guessed = _guess(corpus.valid if side == "valid" else corpus.test, blind)
            figures[f"{side}_{name}"] = guessed.accuracy
            figures |= {f"{side}_{name}_{kind}": share for kind, share in guessed.by_kind.items()}
    return figures


def _guess(side: QuestionSide, blind: BlindBaseline) -> AnswerScores:
    questions = side.questions
    return score_answers(
        [blind.answer(one.text) for one in questions],
        [one.answer for one in questions],
        [one.kind for one in questions],
    )


def _fresh(config: QuestionConfig, corpus: QuestionCorpus, tokenizer: Tokenizer) -> QuestionAnswerer:
    seed_streams(config.train.seed)
    model = build_question_network(
        config.model,
        vocabulary_size=tokenizer.size,
        num_answers=len(corpus.answers),
        image_size=config.data.image_size,
    )
    mean, spread = color_statistics(corpus.train.pictures)
    model.places.encoder.standardize.fit(mean=mean, spread=spread)
    data = config.data
    return QuestionAnswerer(
        model, tokenizer, corpus.answers, config.model, image_size=data.image_size, max_length=data.max_length
    )


def _write(
    config: QuestionConfig,
    corpus: QuestionCorpus,
    run: Run,
    answerer: QuestionAnswerer,
    scores: dict[str, AnswerScores],
    figures: dict[str, float],
) -> None:
    """Write the report, then the model folder."""
    counts = "; ".join(
        f"{len(side):,} questions about {len(side.pictures):,} pictures to {purpose}"
        for side, purpose in ((corpus.train, "train on"), (corpus.valid, "validate on"), (corpus.test, "test with"))
    )
    data, title = f"{config.data.corpus}: {counts}.", f"Questions about pictures of {config.data.corpus}"
    signature = describe_questions(config)
    side = corpus.test if len(corpus.test) else corpus.valid
    page = questions_report(
        title=title,
        data=data,
        figures=figures,
        scores=scores,
        askings=_askings(answerer, side),
        metrics=read_metrics(run.folder.metrics),
        command=run.command,
        signature=signature,
        config=show_settings(config, help=False),
    )
    write_text(run.folder.report, page)
    license = "MIT, drawn by regard" if config.data.corpus == BUILTIN else config.data.license
    card = Card(
        title=title,
        summary=f"Words of a question look at the places of a picture ({config.model.image.kind}); "
        f"{figures['parameters']:,.0f} parameters, trained with regard {__version__} in {figures['steps']:,.0f} steps.",
        data=data,
        license=license,
        figures=told_questions(figures),
        command=run.command,
        signature=signature,
        folder=str(run.folder.model),
        use=ASK,
    )
    run.put_model(answerer.save, card=write_card(card), figures=figures)


def _askings(answerer: QuestionAnswerer, side: QuestionSide) -> list[Asking]:
    """Ask the first question of each kind about the first pictures, so that each kind is shown."""
    kinds = sorted({one.kind for one in side.questions})
    shown = []
    for number in range(min(SHOWN, len(side.pictures))):
        own = [one for one in side.questions if one.picture == number]
        wanted = kinds[number % len(kinds)]
        chosen = next((one for one in own if one.kind == wanted), own[0] if own else None)
        if chosen is not None:
            found = answerer.ask_pixels(torch.from_numpy(side.pictures[number]), [chosen.text])[0]
            shown.append(Asking(found, chosen.answer, chosen.kind))
    return shown
