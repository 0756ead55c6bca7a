"""Small random models that see pictures, and that label English texts, for the views Ask an image and Classify."""

from dataclasses import replace

import torch

from regard.config.classify import (
    AverageSpec,
    LastStateSpec,
    RecurrentAttentionSpec,
    StructuredSpec,
    TransformerEncoderSpec,
)
from regard.config.language import SavedLanguageModel, TransformerLanguageSpec
from regard.config.vision import CaptionSpec, QuestionSpec, ResidualSpec, VisionTransformerSpec
from regard.data.corpora.pair import words
from regard.data.scenes import draw_captions, draw_questions
from regard.data.text.text_tokenizer import TextTokenizer
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.models.classification import build_classifier
from regard.models.language.build import build_network
from regard.models.vision.build import build_image_encoder
from regard.models.vision.build_captions import build_caption_model
from regard.models.vision.build_questions import build_question_network
from regard.studio.examples import PASSAGE
from regard.studio.models import Models
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.questions.model import QuestionAnswerer

REVIEW = "A good book, though too long."
IMAGE = ResidualSpec(widths=(4, 4, 6, 8), num_blocks=1)
WORDS = TokenizerConfig(kind="word", vocabulary_size=1000, min_frequency=1, lowercase=True)
CLASSIFIERS = {
    "transformer": TransformerEncoderSpec(size=8, num_layers=2, num_heads=2, feed_forward_size=8),
    "structured": StructuredSpec(size=8, hidden_size=4, attention_size=4, num_hops=3, output_size=4),
    "attending": RecurrentAttentionSpec(size=8, hidden_size=4, attention_size=4),
    "attending-2": RecurrentAttentionSpec(size=8, hidden_size=4, attention_size=4),
    "last": LastStateSpec(size=8, hidden_size=4),
    "average": AverageSpec(size=8),
}


def make_seers() -> dict[str, object]:
    """Make one model of each kind, lively enough that looks differ."""
    torch.manual_seed(4)
    questions = draw_questions({"train": 12})["train"].questions
    answers = sorted({one.answer for one in questions})
    spec = QuestionSpec(size=8, num_heads=2, feed_forward_size=8, image=IMAGE)
    made: dict[str, object] = {}
    heard = train_tokenizer((one.text for one in questions), WORDS)
    for name, one in {"answerer": spec, "answerer-2": spec, "mean": replace(spec, attention="mean")}.items():
        network = build_question_network(one, vocabulary_size=heard.size, num_answers=len(answers), image_size=64)
        made[name] = QuestionAnswerer(lively(network), heard, answers, one, max_length=12)
    said = train_tokenizer(draw_captions({"train": 12})["train"].captions, WORDS)
    caption = CaptionSpec(size=8, num_heads=2, num_layers=1, feed_forward_size=8, image=IMAGE)
    model = lively(build_caption_model(caption, vocabulary_size=said.size, image_size=64))
    made["captioner"] = Captioner(model, said, caption, max_length=5)
    gates = ResidualSpec(widths=(4, 8), num_blocks=1, attention="both", reduction=2)
    patches = VisionTransformerSpec(patch_size=4, size=8, num_layers=1, num_heads=2, feed_forward_size=8)
    for name, one, size, channels in (("gates", gates, (16, 16), 3), ("patches", patches, (16, 16), 1)):
        network = build_image_encoder(one, image_size=size, channels=channels, num_labels=3)
        made[name] = ImageClassifier(
            lively(network), ["circle", "square", "<b>"], one, image_size=size, channels=channels
        )
    return made


def make_english() -> dict[str, object]:
    """Make classifiers and a language model that know the words of the passage."""
    torch.manual_seed(5)
    tokenizer = train_tokenizer([PASSAGE, REVIEW], WORDS)
    made: dict[str, object] = {}
    for name, spec in CLASSIFIERS.items():
        model = build_classifier(spec, vocabulary_size=tokenizer.size, num_labels=2)
        made[name] = Classifier(lively(model), tokenizer, ["good", "<b>bad"], spec, max_length=400)
    letters = TextTokenizer("character", sorted(set(PASSAGE)))
    spaced = TextTokenizer("space", sorted(set(words(PASSAGE))))
    for name, one in (("letters", letters), ("spaced", spaced)):
        spec = TransformerLanguageSpec(size=8, num_layers=1, num_heads=2, feed_forward_size=8, context=200, dropout=0.0)
        config = SavedLanguageModel(version="0", task="language", model=spec, vocabulary_size=one.size, length=8)
        made[name] = LanguageModel(build_network(spec, vocabulary_size=one.size).eval(), one, config)
    return made


def opened(made: dict[str, object]) -> Models:
    """Open models that lie in no folder."""
    return Models(list(made), load=lambda path: made[path.name])


def lively(model: torch.nn.Module) -> torch.nn.Module:
    """Make parameters larger than they are drawn, for weights that are far from uniform."""
    with torch.no_grad():
        for one in model.parameters():
            if one.ndim > 1:
                one.normal_(std=0.6)
    return model
