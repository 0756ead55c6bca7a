"""Greedy translation with a model that is still being trained."""

from collections.abc import Sequence

from regard.data.text.tokenizer import TokenizerPair
from regard.decoding.search import Search
from regard.models.sequence.build import TranslationModel
from regard.tasks.translation.model import Translator


def translate(
    model: TranslationModel, tokenizers: TokenizerPair, texts: Sequence[str], *, batch_tokens: int = 4096
) -> list[str]:
    """Translate sentences greedily, as they are spelled, `<unk>` and all."""
    translator = Translator(model, tokenizers, unknown="keep", respell=False)
    result = translator.search(texts, Search(beam=1), batch_tokens=batch_tokens)
    return [outputs[0].text for outputs in result]
