"""Small random models of every kind that reads text, for the view Step by step."""

from dataclasses import replace

import torch

import regard
from regard.config.classify import AverageSpec, StructuredSpec
from regard.config.language import SavedLanguageModel, TransformerLanguageSpec
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.models.classification import build_classifier
from regard.models.embedding import TokenEmbedding
from regard.models.language.build import build_network
from regard.models.language.recurrent import RecurrentStack
from regard.models.language.recurrent_attention import AttendingLanguageModel
from regard.studio.models import Models
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.presets import preset
from unit.tasks.translators import LOCATION, RECURRENT, WORDS, make_folder, tokenizers

TEXT = "El libro es azul."
RECURRENTS = {
    "additive": RECURRENT,
    "location": LOCATION,
    "general": replace(preset("luong-general"), embedding_size=8, hidden_size=8),
    "concat": replace(preset("luong-concat"), embedding_size=8, hidden_size=8),
    "local": replace(preset("luong-local-p"), embedding_size=8, hidden_size=8),
    "gaussian": replace(preset("gaussian"), embedding_size=8, hidden_size=8),
    "dot": replace(preset("dot"), embedding_size=8, hidden_size=8),
}
TRANSFORMER = replace(
    preset("transformer-tiny"), size=8, num_heads=2, feed_forward_size=8, num_encoder_layers=1, num_decoder_layers=1
)
CHARACTERS = TextTokenizer("character", sorted(set(TEXT)))


def _language(network):
    spec = TransformerLanguageSpec()
    config = SavedLanguageModel(version="0", task="language", model=spec, vocabulary_size=CHARACTERS.size, length=8)
    return LanguageModel(network.eval(), CHARACTERS, config)


def _classifier(spec):
    tokenizer = tokenizers(WORDS).source
    model = build_classifier(spec, vocabulary_size=tokenizer.size, num_labels=2)
    return Classifier(model, tokenizer, ["good", "bad"], spec)


def make_readers(root) -> Models:
    """Open one model of each kind."""
    torch.manual_seed(3)
    spec = TransformerLanguageSpec(size=8, num_layers=1, num_heads=2, feed_forward_size=8, context=40, dropout=0.0)
    stack = RecurrentStack("gru", (4, 4))
    made = {name: regard.load(make_folder(root / name, one, favor=END)) for name, one in RECURRENTS.items()}
    made |= {
        "transformer": regard.load(make_folder(root / "transformer", TRANSFORMER, favor=END)),
        "language": _language(build_network(spec, vocabulary_size=CHARACTERS.size)),
        "attending": _language(AttendingLanguageModel(TokenEmbedding(CHARACTERS.size, 4), stack, span=3, num_heads=2)),
        "classifier": _classifier(StructuredSpec(size=8, attention_size=4, num_hops=3)),
        "average": _classifier(AverageSpec(size=8)),
    }
    return Models([root / name for name in made], load=lambda path: made[path.name])
