"""A model that describes pictures, with its words: a picture in, a caption out, with a map for each word."""

from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import UInt8
from torch import Tensor

from regard import __version__
from regard.config.vision import CaptionSpec, SavedCaptions
from regard.data.corpora.pair import words as divide_words
from regard.data.text.special import END, START, UNKNOWN
from regard.data.text.tokenizer import Tokenizer
from regard.decoding import Hypothesis, Search, decode
from regard.errors import ArgumentError
from regard.models.sequence.build import count_parameters
from regard.models.vision.build_captions import build_caption_model
from regard.models.vision.captions import CaptionModel, as_source
from regard.tasks.finite_output import check_output
from regard.tasks.model_folder import open_model
from regard.tasks.picture_input import AnyPicture, read_any_picture
from regard.tasks.questions.model import TOKENIZER
from regard.tasks.saved_model import build_saved, check_vocabulary, read_saved, whole_folder, write_saved
from regard.tasks.word_maps import WordMaps
from regard.training.group import pick_device

TASK: Literal["captions"] = "captions"


@dataclass(frozen=True, kw_only=True, eq=False)
class Caption:
    """The caption of a picture."""

    text: str
    probabilities: tuple[float, ...]
    """Of each word, given those before it; the last is that of ending there, where it ended."""
    attention: WordMaps
    """What the model attends to for each word."""
    finished: bool
    """False where the longest length came before the end."""

    @property
    def probability(self) -> float:
        """That of the whole caption."""
        product = 1.0
        for item in self.probabilities:
            product *= item
        return product


class Captioner:
    """A trained model that describes pictures. `load_captioner` reads one from a folder."""

    def __init__(
        self,
        model: CaptionModel,
        tokenizer: Tokenizer,
        spec: CaptionSpec,
        *,
        image_size: int = 64,
        max_length: int = 40,
        answers: bool = False,
    ) -> None:
        self.model, self.tokenizer, self.spec = model.eval(), tokenizer, spec
        self.image_size, self.max_length, self.answers = image_size, max_length, answers

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def caption(self, image: AnyPicture, *, question: str = "", beam: int = 1, n_best: int = 1) -> list[Caption]:
        """Describe a picture in `n_best` ways, best first, greedily or with a beam; or answer a question in a sentence.

        `image` is a path, a Pillow image, an array of bytes, or a tensor from 0 to 1.
        """
        pixels = read_any_picture(image, size=self.image_size)
        return self.caption_pixels(pixels, question=question, beam=beam, n_best=n_best)

    def caption_pixels(
        self, pixels: UInt8[Tensor, "3 height width"], *, question: str = "", beam: int = 1, n_best: int = 1
    ) -> list[Caption]:
        """Describe a picture of the size that the model reads, or answer a question: what the text begins with."""
        prompt = self._encode(question) if question else []
        search = Search(beam=beam, n_best=n_best, max_length=self.max_length + 1)
        source = as_source(pixels.unsqueeze(0)).to(self.device)
        result = decode(self.model, source, search=search, start=START, end=END, weights=True, prefix=[prompt])[0]
        return [self._caption(item, pixels, len(prompt)) for item in result]

    def unknown(self, question: str) -> tuple[str, ...]:
        """List the words of a question that the model was never trained on."""
        named = divide_words(question)
        return tuple(word for word in named if UNKNOWN in self.tokenizer.encode(word).ids)

    def _encode(self, question: str) -> list[int]:
        """Give the tokens of a question; a missing question mark is added, as all that were trained on end in one."""
        if not self.answers:
            raise ArgumentError(
                "`question` must be empty for a model that only describes; received a question. Train one that answers "
                "in sentences: regard train --task captions --set data.answers=3."
            )
        marked = question.strip() if question.strip().endswith("?") else f"{question.strip()}?"
        tokens = self.tokenizer.encode(marked).ids
        if len(tokens) >= self.max_length:
            raise ArgumentError(
                f"`question` must have fewer than {self.max_length} words, all that the model reads and answers in; "
                f"received {len(tokens)}."
            )
        return tokens

    def save(self, folder: Path) -> None:
        """Write model.safetensors, config.json and tokenizer.json. Nothing is pickled."""
        config = SavedCaptions(
            version=__version__,
            task=TASK,
            model=self.spec,
            vocabulary_size=self.tokenizer.size,
            image_size=self.image_size,
            max_length=self.max_length,
            answers=self.answers,
        )
        write_saved(folder, self.model, config, {TOKENIZER: self.tokenizer.to_json()})

    def __repr__(self) -> str:
        size, kind = count_parameters(self.model), self.spec.image.kind
        return f"Captioner({kind}, {size:,} parameters, {self.tokenizer.size} words, on {self.device})"

    def _caption(self, result: Hypothesis, pixels: Tensor, start: int) -> Caption:
        """Read a caption from what was generated after the first `start` tokens."""
        check_output(result.log_probabilities, of="a picture")
        tokens = [token for token in result.tokens[start:] if token != END]
        assert result.weights is not None
        grid = self._grid(result.weights.size(-1))
        weights = result.weights.float().cpu()[:, :, start : start + len(tokens)].unflatten(-1, grid)
        return Caption(
            text=self.tokenizer.decode(tokens),
            probabilities=tuple(exp(item) for item in result.log_probabilities[start:]),
            attention=WordMaps(
                image=pixels.cpu().float() / 255, words=tuple(self.tokenizer.pieces(tokens)), weights=weights
            ),
            finished=result.finished,
        )

    def _grid(self, positions: int) -> tuple[int, int]:
        rows = self.model.places.rows.table.size(0)
        return rows, positions // rows


def load_captioner(path: str | Path, *, device: torch.device | str = "cpu") -> Captioner:
    """Load the model in a model folder, or of the run in a run folder; "auto" takes a GPU where there is one."""
    folder = open_model(path)
    config = read_saved(folder, TASK, SavedCaptions)
    target_device = pick_device(device, argument="device")
    size, most, words = config.image_size, config.max_length, config.vocabulary_size
    with whole_folder(folder, TASK):
        model = build_saved(lambda: build_caption_model(config.model, vocabulary_size=words, image_size=size), folder)
        tokenizer = Tokenizer.load(folder)
        check_vocabulary(folder, words, tokenizer)
    return Captioner(
        model.to(target_device), tokenizer, config.model, image_size=size, max_length=most, answers=config.answers
    )
