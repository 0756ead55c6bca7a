"""Model folders of every kind, tiny and untrained, and a way to use each: what the fuzz tests damage."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import regard
from regard.config.classify import RecurrentAttentionSpec, TfIdfSpec
from regard.config.language import BagSpec, NGramSpec, RecurrentLanguageSpec, TransformerLanguageSpec
from regard.config.model import StatisticalSpec, TransformerSpec
from regard.config.vision import CaptionSpec, QuestionSpec, ResidualSpec, VisionTransformerSpec
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.data.text.tokenizer import Tokenizer
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.decoding.search import Search
from regard.inspection.hugging_face.folder import load_hugging_face
from regard.models.classification import build_classifier
from regard.models.folder import save_model
from regard.models.language.build import build_network, count_text
from regard.models.language.folder import save_language_model
from regard.models.statistical.counts import count_translator
from regard.models.vision.build import build_image_encoder
from regard.models.vision.build_captions import build_caption_model
from regard.models.vision.build_questions import build_question_network
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.questions.model import QuestionAnswerer
from unit.tasks.translators import BYTES, RECURRENT, WORDS, make_folder, tokenizers

TEXT = "the cat sat on the mat and the dog ran"
GREEDY = Search(beam=1, max_length=5)
IMAGE = ResidualSpec(widths=(4, 4), num_blocks=1)
SIDE = 16
TRANSFORMER = TransformerSpec(size=8, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=8)


class Kind(NamedTuple):
    """How to write a folder of one kind, and how to load and use it."""

    make: Callable[[Path], object]
    use: Callable[[Path], object]


@cache
def words() -> Tokenizer:
    return train_tokenizer([TEXT] * 3, TokenizerConfig(kind="word"))


@cache
def picture() -> torch.Tensor:
    return torch.zeros(3, SIDE, SIDE, dtype=torch.uint8)


def make_language(spec: Any) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        tokenizer = TextTokenizer("character", sorted(set(TEXT)))
        tokens = np.array(tokenizer.encode(TEXT))
        counted = isinstance(spec, BagSpec | NGramSpec)
        build = count_text if counted else build_network
        model = build(spec, *[tokens][: int(counted)], vocabulary_size=tokenizer.size)
        save_language_model(model, spec, folder, length=8)
        tokenizer.save(folder)

    return make


def make_classifier(spec: Any) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        model = build_classifier(spec, vocabulary_size=words().size, num_labels=2)
        Classifier(model, words(), ("good", "bad"), spec, max_length=9).save(folder)

    return make


def make_images(spec: Any) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        model = build_image_encoder(spec, image_size=SIDE, num_labels=2)
        ImageClassifier(model, ("day", "night"), spec, image_size=(SIDE, SIDE), channels=3).save(folder)

    return make


def make_questions(folder: Path) -> None:
    spec = QuestionSpec(size=8, num_heads=2, num_layers=1, feed_forward_size=8, image=IMAGE)
    model = build_question_network(spec, vocabulary_size=words().size, num_answers=2, image_size=SIDE)
    QuestionAnswerer(model, words(), ("yes", "no"), spec, image_size=SIDE, max_length=6).save(folder)


def make_captions(folder: Path) -> None:
    spec = CaptionSpec(size=8, num_heads=2, num_layers=1, feed_forward_size=8, image=IMAGE)
    model = build_caption_model(spec, vocabulary_size=words().size, image_size=SIDE)
    Captioner(model, words(), spec, image_size=SIDE, max_length=4).save(folder)


def make_statistical(folder: Path) -> None:
    sides = tokenizers(WORDS)
    sizes = {"source_vocabulary": sides.source.size, "target_vocabulary": sides.target.size}
    source, target = ([[4, 5, 6], [4, 7]], [[5, 6], [7, 4, 5]])
    save_model(
        count_translator(StatisticalSpec(), source, target, **sizes, end=END), StatisticalSpec(), folder, **sizes
    )
    sides.save(folder)


def make_hugging_face(folder: Path) -> None:
    from unit.inspection.hugging_face_models import make_model, make_tokenizer

    make_model("gpt2").save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)


def use_hugging_face(folder: Path) -> object:
    from regard.inspection.hugging_face.folder import naming_errors

    model, tokenizer = load_hugging_face(folder)
    with naming_errors(folder, "hold a model that can read this text"):
        return regard.inspect(model, tokenizer, "the cat")


def loaded(act: Callable[[Any], object]) -> Callable[[Path], object]:
    return lambda folder: act(regard.load(folder))


_translate = loaded(lambda model: model.search(["el gato"], GREEDY, weights=True))
_generate = loaded(lambda model: (model.generate("the", max_tokens=3), model.next("the"), model.perplexity(["cat"])))
_classify = loaded(lambda model: (model.classify(["the cat"]), model.classify(["cat"], by="removal")))
_see = loaded(lambda model: model.classify([picture().float() / 255]))

KINDS = {
    "recurrent": Kind(lambda folder: make_folder(folder, RECURRENT, BYTES), _translate),
    "transformer": Kind(lambda folder: make_folder(folder, TRANSFORMER, BYTES), _translate),
    "statistical": Kind(make_statistical, _translate),
    "bag": Kind(make_language(BagSpec()), _generate),
    "ngram": Kind(make_language(NGramSpec(order=3)), _generate),
    "lstm": Kind(make_language(RecurrentLanguageSpec(embedding_size=8, hidden_size=8, num_layers=1)), _generate),
    "language": Kind(
        make_language(TransformerLanguageSpec(size=8, num_layers=1, num_heads=2, feed_forward_size=8, context=8)),
        _generate,
    ),
    "tf-idf": Kind(make_classifier(TfIdfSpec()), _classify),
    "classifier": Kind(make_classifier(RecurrentAttentionSpec(size=8, hidden_size=4, attention_size=4)), _classify),
    "residual": Kind(make_images(IMAGE), _see),
    "vit": Kind(make_images(VisionTransformerSpec(size=8, num_layers=1, num_heads=2, feed_forward_size=8)), _see),
    "questions": Kind(make_questions, loaded(lambda model: model.ask_pixels(picture(), ["the cat"]))),
    "captions": Kind(make_captions, loaded(lambda model: model.caption_pixels(picture()))),
    "hugging-face": Kind(make_hugging_face, use_hugging_face),
}
