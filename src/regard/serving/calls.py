"""What the endpoints compute: each call takes a loaded model and items of one or more requests, and gives plain values.

Calls are values: those that are equal can be computed together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from starlette.exceptions import HTTPException

from regard.data.corpora.pair import Pair
from regard.data.text.word_spans import Division
from regard.decoding.search import Sampling, Search
from regard.errors import ArgumentError
from regard.inspection.trace.inspected import Inspection
from regard.serving.limits import Limits
from regard.studio.tensors import pack_weights
from regard.studio.views.ask_picture import read_file
from regard.tasks.alignment.align import shorten
from regard.tasks.alignment.model import WordAligner
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.translation.markup.search import search_marked
from regard.tasks.translation.markup.tokens import Markup
from regard.tasks.translation.model import Translator
from regard.tasks.translation.result import Translation

Plain = dict[str, Any]


@dataclass(frozen=True)
class Translate:
    """Translate sentences."""

    batches: ClassVar[bool] = True
    search: Search
    alignment: bool
    markup: Markup | None = None
    terms: tuple[tuple[str, str], ...] = ()

    def __call__(self, model: Translator, texts: Sequence[str], /) -> list[Plain]:
        """Give the outputs of each sentence."""
        terms = dict(self.terms)
        outputs = search_marked(model, texts, self.search, form=self.markup, terms=terms, weights=self.alignment)
        return [self._write(sentence) for sentence in outputs]

    def _write(self, outputs: Sequence[Translation]) -> Plain:
        best = outputs[0]
        result = self._write_output(best) | {"read_as": dict(best.read.words), "cut": best.cut}
        return result | {"n_best": [self._write_output(item) for item in outputs]} if self.search.n_best > 1 else result

    def _write_output(self, output: Translation) -> Plain:
        result: Plain = {"text": output.text, "score": output.score, "finished": output.finished}
        if output.with_marks is not None:
            result["with_marks"] = output.with_marks
        if self.alignment:
            result["alignment"] = [[link.source, link.target] for link in output.links_by("whitespace")]
        return result


@dataclass(frozen=True)
class Align:
    """Link the words of sentence pairs."""

    batches: ClassVar[bool] = True
    words: Division

    def __call__(self, model: Translator | WordAligner, pairs: Sequence[tuple[str, str]], /) -> list[Plain]:
        """Give the words of each pair, and their links: the same whatever pairs are computed together."""
        plain, cut = shorten([Pair(source=source, target=target) for source, target in pairs], model, words=self.words)
        return [
            {
                "source": list(item.source),
                "target": list(item.target),
                "links": [[link.source, link.target] for link in item.links],
                "read_as": dict(item.read_as),
                "cut": number in cut,
            }
            for number, item in enumerate(model.align(plain, words=self.words))
        ]


@dataclass(frozen=True)
class Classify:
    """Label texts."""

    batches: ClassVar[bool] = True

    def __call__(self, model: Classifier, texts: Sequence[str], /) -> list[Plain]:
        """Give the label of each text, its probabilities, and the shares of its words."""
        return [
            {
                "label": item.label,
                "probabilities": item.probabilities,
                "words": list(item.words),
                "weights": list(item.weights),
                "cut": item.cut,
            }
            for item in model.classify(texts)
        ]


@dataclass(frozen=True)
class ClassifyImages:
    """Label pictures, which travel in base64."""

    batches: ClassVar[bool] = True

    def __call__(self, model: ImageClassifier, images: Sequence[str], /) -> list[Plain]:
        """Give the label of each picture, and its probabilities."""
        pixels = [_read_image(image, size=model.image_size, channels=model.channels) for image in images]
        decisions = model.classify([item.float() / 255 for item in pixels])
        return [{"label": item.label, "probabilities": item.probabilities} for item in decisions]


@dataclass(frozen=True, eq=False)
class Ask:
    """Answer questions about one picture."""

    batches: ClassVar[bool] = False
    image: str

    def __call__(self, model: QuestionAnswerer | Captioner, questions: Sequence[str], /) -> list[Plain]:
        """Give an answer to each question; a model of captions describes the picture where a question is empty."""
        pixels = _read_image(self.image, size=(model.image_size, model.image_size), channels=3)
        if isinstance(model, Captioner):
            captions = [model.caption_pixels(pixels, question=question)[0] for question in questions]
            return [{"answer": item.text, "probability": item.probability} for item in captions]
        return [
            {"answer": item.answer, "probability": item.probability, "unknown": list(item.unknown), "cut": item.cut}
            for item in model.ask_pixels(pixels, questions)
        ]


class Read(NamedTuple):
    """A text whose attention is wanted, and what the model is made to output, if anything."""

    text: str
    target: str | None


@dataclass(frozen=True, eq=False)
class Attention:
    """Record the weights of every layer and head while a model reads a text."""

    batches: ClassVar[bool] = False
    limits: Limits

    def __call__(self, model: Translator | LanguageModel | Classifier, texts: Sequence[Read], /) -> list[Plain]:
        """Give the tokens, and the packed weights of each layer."""
        return [_write_inspection(self._inspect(model, item)) for item in texts]

    def _inspect(self, model: Translator | LanguageModel | Classifier, read: Read) -> Inspection:
        for name, text in (("text", read.text), ("target", read.target or "")):
            self.limits.check(413, "attention_tokens", name, count_tokens(model, text, name))
        if isinstance(model, Translator):
            search = Search(max_length=self.limits.attention_tokens)
            return model.inspect(read.text, target=read.target, search=search)
        if isinstance(model, LanguageModel):
            return model.inspect(read.text, target=read.target)
        if read.target is not None:
            raise ArgumentError("`target` must be left out for a classifier, which outputs a label; received a text.")
        return model.inspect(read.text)


@dataclass(frozen=True)
class Generate:
    """Go on with a text."""

    prompt: str
    tokens: int
    sampling: Sampling | None

    def __call__(self, model: LanguageModel, /) -> Iterator[str]:
        """Give the pieces as they are generated; the likeliest without `sampling`."""
        return model.stream(self.prompt, max_tokens=self.tokens, sampling=self.sampling, greedy=self.sampling is None)


def count_tokens(model: Translator | LanguageModel | Classifier, text: str, side: str) -> int:
    """Count the tokens that a model makes of a text, or of its target."""
    if isinstance(model, Translator):
        tokenizer = model.tokenizers.target if side == "target" else model.tokenizers.source
        return len(tokenizer.encode(text).ids)
    return len(model.tokenizer.encode(text) if isinstance(model, LanguageModel) else model.tokenizer.encode(text).ids)


def _write_inspection(inspection: Inspection) -> Plain:
    layers = []
    for name in inspection.trace.layers:
        shown = inspection.map(name)
        rows, columns = map(len, shown.labels)
        weights = inspection.call(name).weights[0, :, :rows, :columns]
        layers.append(
            {"layer": name, "query": list(shown.labels[0]), "key": list(shown.labels[1])}
            | {"weights": pack_weights(weights)}
        )
    return {
        "text": inspection.text,
        "target": inspection.target,
        "tokens": list(inspection.tokens),
        "target_tokens": list(inspection.target_tokens),
        "target_probabilities": list(inspection.target_probabilities),
        "read_as": dict(inspection.read_as),
        "layers": layers,
    }


def _read_image(image: str, *, size: tuple[int, int], channels: int) -> Any:
    try:
        return read_file(image, size=size, channels=channels).tensor()
    except ArgumentError as error:
        raise HTTPException(422, str(error).replace("`file`", "`image`")) from error
