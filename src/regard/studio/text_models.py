"""Models that read text and predict words, ours and those of Hugging Face, in one form for the studio's views."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.data.text.special import END, SPECIAL_TOKENS, UNKNOWN
from regard.errors import ArgumentError
from regard.inspection.hugging_face.folder import load_hugging_face
from regard.inspection.readings.joined import joined
from regard.inspection.readings.words_of_tokens import Spelling
from regard.inspection.trace.attention_layers import layers_with
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call
from regard.models.language.network import LanguageNetwork
from regard.studio.schema.parts import MapName
from regard.tasks.language.model import LanguageModel
from regard.tasks.token_labels import name_tokens

MAX_TOKENS = 512
"""Tokens that are read at once: maps of more cannot be drawn."""
LONGEST_OUTPUT = 48
"""Words that are generated at most."""
Reads = Literal["causal", "masked", "both", "encoder"]
"""What a model predicts: the next word, a word that is hidden, the words of an output, or none."""


class TextMaps(NamedTuple):
    """All layers of one kind of attention."""

    id: MapName
    layers: list[str]
    weights: Float[Tensor, "layers heads query key"]
    mask: Bool[Tensor, "query key"] | None
    """True where some layer and head may attend; None where every position may be attended to."""


class TextRun(NamedTuple):
    """One pass over a text."""

    maps: list[TextMaps]
    log_probabilities: Float[Tensor, "rows vocabulary"] | None
    """After each position that is read; of an encoder-decoder, after each word of the output."""
    labels: list[tuple[str, float]]
    """Of a model that labels: its labels with their probabilities, best first."""


class TextModel(ABC):
    """A model with its tokenizer. What follows a text is `output`, as token numbers."""

    reads: Reads
    model: nn.Module
    ends: frozenset[int] = frozenset()
    """Tokens after which nothing follows."""
    hidden: int | None = None
    """The token that stands for a word to be predicted."""
    first: int = 0
    """Tokens before those of the text."""

    @abstractmethod
    def ids(self, text: str) -> list[int]:
        """Give the tokens of a text as they are read, special ones included."""

    @abstractmethod
    def run(self, ids: Sequence[int], output: Sequence[int]) -> TextRun:
        """Read, and record what every layer attends to."""

    @abstractmethod
    def predict(self, ids: Sequence[int], output: Sequence[int]) -> Float[Tensor, "rows vocabulary"]:
        """Read, and give the log-probabilities alone."""

    @abstractmethod
    def side(self, ids: Sequence[int], text: str = "") -> tuple[Spelling, list[int]]:
        """Give tokens as they are spelled, and which of them the model does not know."""

    @abstractmethod
    def piece(self, token: int) -> str:
        """Name a token that may be output."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Write tokens as text."""

    def generate(self, ids: Sequence[int]) -> list[int]:
        """Generate an output greedily, as long as the model can read it again."""
        output: list[int] = []
        while len(output) < min(LONGEST_OUTPUT, self.reach - 3) and (not output or output[-1] not in self.ends):
            output.append(int(self.predict(ids, output)[-1].argmax()))
        return output

    @property
    def leading(self) -> list[str]:
        """Name the layers whose queries lead to a word each."""
        return layers_with(self.model)

    @property
    def reach(self) -> int:
        """How many tokens can be read at once."""
        return MAX_TOKENS

    @property
    def readout(self) -> nn.Module | None:
        """The output layer."""
        return None


class OwnLanguageModel(TextModel):
    """A language model of ours."""

    reads: Reads = "causal"
    first = 1

    def __init__(self, thing: LanguageModel) -> None:
        if not isinstance(thing.model, LanguageNetwork) or not layers_with(thing.model):
            raise ArgumentError("`model` must attend; received one that does not. Choose another model.")
        self.thing, self.model = thing, thing.model

    @property
    def reach(self) -> int:
        """How many tokens can be read at once."""
        return min(MAX_TOKENS, self.thing.model.reach or MAX_TOKENS)  # type: ignore[union-attr]

    @property
    def readout(self) -> nn.Module | None:
        """The output layer."""
        return self.thing.model.output  # type: ignore[union-attr]

    def ids(self, text: str) -> list[int]:
        """Give the tokens of a text, behind the end of the line before."""
        return [END, *self.thing.tokenizer.encode(text)]

    @torch.no_grad()
    def run(self, ids: Sequence[int], output: Sequence[int]) -> TextRun:
        """Read the text and what follows it."""
        with record(self.model) as trace:
            log_probabilities = self.predict(ids, output)
        count = len(ids) + len(output)
        calls = [call for call in joined(trace) if call.weights.size(-1) >= count]
        return TextRun([_stacked("text", calls, count)], log_probabilities, [])

    @torch.no_grad()
    def predict(self, ids: Sequence[int], output: Sequence[int]) -> Float[Tensor, "rows vocabulary"]:
        """Read the text and what follows it."""
        tokens = torch.tensor([[*ids, *output]], device=self.thing.device)
        features = self.model(tokens).features
        logits: Tensor = self.thing.model.output(features)[0]  # type: ignore[union-attr]
        return logits.float().log_softmax(-1).cpu()

    def side(self, ids: Sequence[int], text: str = "") -> tuple[Spelling, list[int]]:
        """Give tokens as they are spelled."""
        tokenizer = self.thing.tokenizer
        named = name_tokens(tokenizer, text, list(ids[1:])) if text else [tokenizer.piece(item) for item in ids[1:]]
        special = range(len(SPECIAL_TOKENS))
        spelled = Spelling(
            ids=list(ids), tokens=[tokenizer.piece(ids[0]), *named], special=special, decode=tokenizer.decode
        )
        return spelled, [index for index, token in enumerate(ids) if token == UNKNOWN]

    def piece(self, token: int) -> str:
        """Name a token."""
        return self.thing.tokenizer.piece(token)

    def decode(self, ids: Sequence[int]) -> str:
        """Write tokens as text."""
        return self.thing.tokenizer.decode(list(ids))


class HuggingFaceModel(TextModel):
    """A model of `transformers`: encoder, decoder, or both."""

    def __init__(self, model: Any, tokenizer: Any, folder: Path) -> None:
        self.model, self.tokenizer, self.folder = model, tokenizer, folder
        self._network: Any = model
        config = model.config
        generates = bool(model.can_generate()) if hasattr(model, "can_generate") else False
        self.two_sided = bool(getattr(config, "is_encoder_decoder", False))
        both = self.two_sided and generates
        hides = type(model).__name__.endswith("ForMaskedLM") and tokenizer.mask_token_id is not None
        self.reads: Reads = "both" if both else "causal" if generates else "masked" if hides else "encoder"
        end = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
        self.ends = frozenset([end] if isinstance(end, int) else end or ())
        self.hidden = tokenizer.mask_token_id if self.reads == "masked" else None
        self._labels_texts = type(model).__name__.endswith("ForSequenceClassification")
        self._start = getattr(config, "decoder_start_token_id", None)

    def __repr__(self) -> str:
        size = sum(item.numel() for item in self.model.parameters())
        return f"{type(self.model).__name__} of Hugging Face, {size:,} parameters"

    @property
    def reach(self) -> int:
        """How many tokens can be read at once."""
        most = getattr(self._network.config, "max_position_embeddings", None) or MAX_TOKENS
        return min(MAX_TOKENS, int(most), *_position_counts(self._network))

    @property
    def readout(self) -> nn.Module | None:
        """The output layer, where it is applied to the states themselves."""
        layer: nn.Module | None = self._network.get_output_embeddings() if self.reads in ("causal", "both") else None
        return layer

    @property
    def leading(self) -> list[str]:
        """Name the layers whose queries lead to a word each."""
        names = layers_with(self.model)
        return [name for name in names if crosses(name)] if self.reads == "both" else names

    def ids(self, text: str) -> list[int]:
        """Give the tokens of a text, special ones included."""
        return list(self.tokenizer(text)["input_ids"])

    @torch.no_grad()
    def run(self, ids: Sequence[int], output: Sequence[int]) -> TextRun:
        """Read, and record what every layer attends to."""
        with record(self.model) as trace:
            result = self._call(ids, output)
        if self.reads != "both":
            count = len(ids) + (len(output) if self.reads == "causal" else 0)
            calls = [call for call in trace if not self.two_sided or _encodes(call.layer)]
            maps = [_stacked("text", calls, count)]
        else:
            parts: dict[MapName, list[Call]] = {"cross": [], "source": [], "target": []}
            for call in trace:
                named: MapName = "source" if _encodes(call.layer) else "target"
                parts["cross" if crosses(call.layer) else named].append(call)
            maps = [_stacked(name, calls, 0) for name, calls in parts.items() if calls]
        if self.reads == "encoder":  # its logits, if any, are over labels, of the text or of each token
            return TextRun(maps, None, self._labels(result.logits[0]) if self._labels_texts else [])
        return TextRun(maps, result.logits[0].float().log_softmax(-1).cpu(), [])

    @torch.no_grad()
    def predict(self, ids: Sequence[int], output: Sequence[int]) -> Float[Tensor, "rows vocabulary"]:
        """Read, and give the log-probabilities alone."""
        logits: Tensor = self._call(ids, output).logits[0]
        return logits.float().log_softmax(-1).cpu()

    def _call(self, ids: Sequence[int], output: Sequence[int]) -> Any:
        device = next(self.model.parameters()).device
        if not self.two_sided or self._labels_texts:
            read = [*ids, *output] if self.reads == "causal" else list(ids)
            return self._network(input_ids=torch.tensor([read], device=device))
        target = torch.tensor([[self._start, *output]], device=device)
        return self._network(input_ids=torch.tensor([list(ids)], device=device), decoder_input_ids=target)

    def _labels(self, logits: Tensor) -> list[tuple[str, float]]:
        names = getattr(self._network.config, "id2label", {})
        chances = logits.float().softmax(-1).tolist()
        return sorted(((str(names.get(index, index)), chance) for index, chance in enumerate(chances)), key=_second)

    def side(self, ids: Sequence[int], text: str = "") -> tuple[Spelling, list[int]]:
        """Give tokens as they are spelled; those that are not known as they were typed."""
        special = set(self.tokenizer.all_special_ids)
        decode = partial(self.tokenizer.decode, clean_up_tokenization_spaces=False)
        tokens = [self.piece(item) for item in ids]
        unknown = self.tokenizer.unk_token_id
        missing = [index for index, token in enumerate(ids) if token == unknown and unknown not in self.ends]
        if missing and text and self.tokenizer.is_fast:
            spans = self.tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
            for index in missing:
                start, end = spans[index] if index < len(spans) else (0, 0)
                tokens[index] = text[start:end] or tokens[index]
        return Spelling(ids=list(ids), tokens=tokens, special=special, decode=decode), missing

    def piece(self, token: int) -> str:
        """Name a token as text where it is, without the space before; else as the vocabulary does."""
        text = self.tokenizer.decode([token]).strip()
        return text if text and "\ufffd" not in text else str(self.tokenizer.convert_ids_to_tokens(token))

    def decode(self, ids: Sequence[int]) -> str:
        """Write tokens as text."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))


def _second(pair: tuple[str, float]) -> float:
    return -pair[1]


def crosses(layer: str) -> bool:
    """Return whether a layer of an encoder-decoder attends to the source, by its name."""
    return any(part in layer.lower() for part in ("cross", "encoder_attn", "encdec"))


def _encodes(layer: str) -> bool:
    """Return whether a layer of an encoder-decoder is one of the encoder's, by its name."""
    return "encoder" in layer.split(".") and not crosses(layer)


def _position_counts(network: nn.Module) -> list[int]:
    """Count the positions that tables hold behind that of padding, as RoBERTa's do: the first token has the next."""
    return [
        table.num_embeddings - table.padding_idx - 1
        for name, table in network.named_modules()
        if isinstance(table, nn.Embedding) and "position" in name.split(".")[-1] and table.padding_idx is not None
    ]


def _stacked(name: MapName, calls: list[Call], count: int) -> TextMaps:
    """Stack the calls of layers that have one shape; `count` cuts off the empty positions of a memory."""
    cut = slice(None) if not count else slice(-count, None)
    weights = torch.stack([call.weights[0, :, :, cut] for call in calls]).float().cpu()
    masks = [call.mask[0].any(0).cpu()[:, cut] for call in calls if call.mask is not None]
    allowed = torch.stack(masks).any(0) if len(masks) == len(calls) else None
    return TextMaps(
        name, [call.layer for call in calls], weights, None if allowed is None or bool(allowed.all()) else allowed
    )


def open_hugging_face(folder: Path, *, device: torch.device | str = "cpu") -> HuggingFaceModel:
    """Open a folder that `save_pretrained` wrote: model as safetensors, and tokenizer."""
    model, tokenizer = load_hugging_face(folder, device=device)
    return HuggingFaceModel(model, tokenizer, folder)


def text_model(thing: object) -> TextModel:
    """Give a model that reads text in the form of the views."""
    if isinstance(thing, TextModel):
        return thing
    if isinstance(thing, LanguageModel):
        return OwnLanguageModel(thing)
    raise ArgumentError(f"`model` must be a language model; received {type(thing).__name__}. Choose another model.")
