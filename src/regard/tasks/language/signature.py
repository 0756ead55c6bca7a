"""The signature of a language model: what tells its results from others'."""

from typing import assert_never

from regard import __version__
from regard.config.language import (
    BagSpec,
    FeedForwardLanguageSpec,
    LanguageSpec,
    NGramSpec,
    RecurrentLanguageSpec,
    TransformerLanguageSpec,
)
from regard.data.text.text_tokenizer import TextTokenizerConfig
from regard.tasks.language.settings import LanguageConfig


def describe_language(config: LanguageConfig) -> str:
    """Give the signature that the results of a run carry.

    >>> print(describe_language(LanguageConfig()).split("|seed")[0])
    task:language|data:|tokens:bpe|vocabulary:8000|model:recurrent-lstm|layers:2|size:256
    """
    name = "+".join(item.rstrip("/").split("/")[-1] for item in (config.data.text, *config.data.more))
    kinds = f"{_describe_tokens(config.tokenizer)}|{describe_spec(config.model)}"
    return f"task:language|data:{name}|{kinds}|seed:{config.train.seed}|version:{__version__}"


def describe_spec(spec: LanguageSpec) -> str:
    """Name a model, and its sizes: no two presets share a name.

    >>> describe_spec(RecurrentLanguageSpec(cell="gru", attention_span=64))
    'model:recurrent-gru|layers:2|size:256|span:64'
    """
    match spec:
        case BagSpec():
            return "model:bag"
        case NGramSpec():
            return f"model:ngram|order:{spec.order}"
        case FeedForwardLanguageSpec():
            return f"model:feed-forward|context:{spec.context}|size:{spec.hidden_size}"
        case RecurrentLanguageSpec():
            span = f"|span:{spec.attention_span}" if spec.attention_span else ""
            return f"model:recurrent-{spec.cell}|layers:{spec.num_layers}|size:{spec.hidden_size}{span}"
        case TransformerLanguageSpec():
            sizes = f"layers:{spec.num_layers}|heads:{spec.num_heads}|size:{spec.size}"
            return f"model:transformer|{sizes}|context:{spec.context}|position:{spec.position}"
        case _:
            assert_never(spec)


def _describe_tokens(config: TextTokenizerConfig) -> str:
    kind = f"tokens:{config.kind}" + ("-lowercase" if config.lowercase else "")
    return kind if config.kind == "byte" else f"{kind}|vocabulary:{config.vocabulary_size}"
