"""A model that answers questions about pictures, with its words and answers: a picture and plain text in."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from regard import __version__
from regard.config.vision import QuestionSpec, SavedQuestions
from regard.data.corpora.pair import words as divide_words
from regard.data.scenes.batches import pad_rows
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import Tokenizer
from regard.errors import ArgumentError, ArgumentTypeError
from regard.models.sequence.build import count_parameters
from regard.models.vision.build_questions import build_question_network
from regard.models.vision.questions import QuestionNetwork
from regard.tasks.finite_output import check_output
from regard.tasks.model_folder import open_model
from regard.tasks.picture_input import AnyPicture, read_any_picture
from regard.tasks.saved_model import (
    build_saved,
    check_vocabulary,
    list_text,
    read_names,
    read_saved,
    whole_folder,
    write_saved,
)
from regard.tasks.word_maps import WordMaps
from regard.training.group import pick_device

ANSWERS, TOKENIZER = "answers.json", "tokenizer.json"
TASK: Literal["questions"] = "questions"


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """The answer to a question about a picture."""

    question: str
    answer: str
    probabilities: dict[str, float]
    """Of every answer, summing to one."""
    attention: WordMaps
    """What each word of the question attends to."""
    unknown: tuple[str, ...] = ()
    """Words of the question that the model has never seen."""
    cut: int = 0
    """Words at the end that were not read, because the question is too long."""

    @property
    def probability(self) -> float:
        """That of the answer."""
        return self.probabilities[self.answer]

    def likeliest(self, count: int = 5) -> list[tuple[str, float]]:
        """List the likeliest answers with their probabilities."""
        return sorted(self.probabilities.items(), key=lambda item: -item[1])[:count]


class QuestionAnswerer:
    """A trained model that answers questions about pictures. `load_question_answerer` reads one from a folder."""

    def __init__(
        self,
        model: QuestionNetwork,
        tokenizer: Tokenizer,
        answers: Sequence[str],
        spec: QuestionSpec,
        *,
        image_size: int = 64,
        max_length: int = 40,
    ) -> None:
        self.model, self.tokenizer, self.answers, self.spec = model.eval(), tokenizer, tuple(answers), spec
        self.image_size, self.max_length = image_size, max_length

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def ask(self, image: AnyPicture, question: str) -> Answer:
        """Answer a question about a picture: a path, a Pillow image, an array of bytes, or a tensor from 0 to 1."""
        return self.ask_pixels(read_any_picture(image, size=self.image_size), [question])[0]

    @torch.no_grad()
    def ask_pixels(self, pixels: UInt8[Tensor, "3 height width"], questions: Sequence[str]) -> list[Answer]:
        """Answer several questions about one picture, of the size that the model reads."""
        encoded = [self._encode(question) for question in questions]
        tokens, lengths = pad_rows([np.asarray(ids) for ids in encoded])
        image = (pixels.float() / 255).unsqueeze(0)
        owners = torch.zeros(len(encoded), dtype=torch.int64, device=self.device)
        result = self.model(image.to(self.device), tokens.to(self.device), lengths, owners, weights=True)
        probabilities = result.logits.double().softmax(-1).tolist()
        assert result.weights is not None
        weights = result.weights.float().cpu().unflatten(-1, result.grid)
        return [
            self._answer(question, probabilities[row], image[0], weights[row, :, :, : len(encoded[row])])
            for row, question in enumerate(questions)
        ]

    def save(self, folder: Path) -> None:
        """Write model.safetensors, config.json, tokenizer.json and answers.json. Nothing is pickled."""
        config = SavedQuestions(
            version=__version__,
            task=TASK,
            model=self.spec,
            vocabulary_size=self.tokenizer.size,
            num_answers=len(self.answers),
            image_size=self.image_size,
            max_length=self.max_length,
        )
        write_saved(folder, self.model, config, {TOKENIZER: self.tokenizer.to_json(), ANSWERS: list_text(self.answers)})

    def __repr__(self) -> str:
        size, kind = count_parameters(self.model), self.spec.image.kind
        return f"QuestionAnswerer({kind}, {size:,} parameters, {len(self.answers)} answers, on {self.device})"

    def _encode(self, question: str) -> list[int]:
        if not isinstance(question, str):
            raise ArgumentTypeError(f"`question` must be a string; received {type(question).__name__}.")
        ids = self.tokenizer.encode(question).ids[: self.max_length]
        if not ids:
            raise ArgumentError(f'`question` must have at least one word; received "{question}".')
        return ids

    def _answer(self, question: str, probabilities: Sequence[float], image: Tensor, weights: Tensor) -> Answer:
        check_output(probabilities, of=question)
        ids = self.tokenizer.encode(question).ids
        words = divide_words(self.tokenizer.normalize(question))
        return Answer(
            question=question,
            answer=self.answers[int(np.argmax(probabilities))],
            probabilities=dict(zip(self.answers, probabilities, strict=True)),
            attention=WordMaps(image=image.cpu(), words=tuple(words[: weights.size(2)]), weights=weights),
            unknown=tuple(word for word, number in zip(words, ids, strict=True) if number == UNKNOWN),
            cut=max(0, len(ids) - self.max_length),
        )


def load_question_answerer(path: str | Path, *, device: torch.device | str = "cpu") -> QuestionAnswerer:
    """Load the model in a model folder, or of the run in a run folder; "auto" takes a GPU where there is one."""
    folder = open_model(path)
    config = read_saved(folder, TASK, SavedQuestions)
    target_device = pick_device(device, argument="device")

    def build() -> QuestionNetwork:
        return build_question_network(
            config.model,
            vocabulary_size=config.vocabulary_size,
            num_answers=config.num_answers,
            image_size=config.image_size,
        )

    with whole_folder(folder, TASK):
        model = build_saved(build, folder)
        tokenizer, answers = Tokenizer.load(folder), read_names(folder / ANSWERS, config.num_answers)
        check_vocabulary(folder, config.vocabulary_size, tokenizer)
    return QuestionAnswerer(
        model.to(target_device),
        tokenizer,
        answers,
        config.model,
        image_size=config.image_size,
        max_length=config.max_length,
    )
