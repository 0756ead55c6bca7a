"""Run a Hugging Face model on a text, and gather what it attended to. Nothing is downloaded here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ArgumentError, ArgumentTypeError
from regard.inspection.readings.words_of_tokens import Spelling
from regard.inspection.trace.inspected import Inspection, Likely, main_layer, only_reads
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call

SHOWN = 10
"""Tokens listed as likely."""
_CROSS = ("cross", "encoder_attn", "encdec")
"""What the names of layers that attend to a source have in them, in small letters."""


def inspect_hugging_face(model: nn.Module, tokenizer: Any, text: str, *, target: str | None = None) -> Inspection:
    """Run an encoder, a decoder or both together on a text. See `inspect`.

    A decoder reads the text, and `target` directly behind it (a space between them belongs to the target); its next
    token is what may follow. Encoder and decoder together are forced to `target`, or to the output of `model.generate`.
    """
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError(f"`text` must be text with at least one word; received {text!r}.")
    if not callable(tokenizer) or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise ArgumentTypeError(
            f"`tokenizer` must be a tokenizer of transformers; received {type(tokenizer).__name__}."
        )
    config = getattr(model, "config", None)
    with _evaluating(model), torch.no_grad():
        if getattr(config, "is_encoder_decoder", False):
            return _inspect_both(model, tokenizer, text, target)
        return _inspect_one(model, tokenizer, text, target)


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Leave dropout out meanwhile."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _read(model: Any, tokenizer: Any, text: str) -> dict[str, Tensor]:
    """Give what the model takes of what the tokenizer makes."""
    inputs = tokenizer(text, return_tensors="pt").to(_device(model))
    taken = signature(model.forward).parameters
    return {name: tensor for name, tensor in inputs.items() if name in taken}


def _inspect_one(model: Any, tokenizer: Any, text: str, target: str | None) -> Inspection:
    """Run an encoder or a decoder."""
    inputs = _read(model, tokenizer, text)
    read = inputs["input_ids"].size(1)
    if target is not None:
        if not _generates(model):
            raise only_reads(model)
        more = tokenizer(target, add_special_tokens=False, return_tensors="pt").to(_device(model))["input_ids"].long()
        inputs = {"input_ids": torch.cat([inputs["input_ids"], more], dim=1)}
    ids = inputs["input_ids"]
    _check_length("text", model, ids)
    with record(model) as trace:
        output = model(**inputs)
    side = _spelling(tokenizer, ids[0])
    tokens = side.tokens
    trace.label(query=tokens, key=tokens)
    logits = getattr(output, "logits", None)
    output_ids = ids[0, read:]
    return Inspection(
        text=text,
        tokens=tuple(tokens),
        trace=trace,
        layer=main_layer([], trace.layers),
        target=target,
        target_tokens=tuple(tokens[read:]),
        target_probabilities=()
        if logits is None or not len(output_ids)
        else _chances(logits[0, read - 1 : -1], output_ids),
        likely=() if logits is None else _likely(model, tokenizer, ids[0], logits[0]),
        model=_name(model),
        spellings=dict.fromkeys(trace.layers, (side, side)),
    )


def _inspect_both(model: Any, tokenizer: Any, text: str, target: str | None) -> Inspection:
    """Run an encoder with its decoder: force it to the target, its own or another, as in training."""
    if not _generates(model):
        raise ArgumentError(
            "`model` must be able to say tokens; received "
            f"{type(model).__name__}, which has no output layer. Load it by AutoModelForSeq2SeqLM."
        )
    inputs = _read(model, tokenizer, text)
    _check_length("text", model, inputs["input_ids"])
    if target is None:
        generated = model.generate(**inputs)
        decoder_input, output_ids = generated[:, :-1], generated[:, 1:]
    else:
        output_ids = tokenizer(text_target=target, return_tensors="pt").to(_device(model))["input_ids"]
        _check_length("target", model, output_ids)
        decoder_input = model.prepare_decoder_input_ids_from_labels(output_ids)
    with record(model) as trace:
        output = model(**inputs, decoder_input_ids=decoder_input)
    source, read, output_spelling = (
        _spelling(tokenizer, ids[0]) for ids in (inputs["input_ids"], decoder_input, output_ids)
    )
    crossing, spellings = [], {}
    for call in trace:
        query = key = source if "encoder" in call.layer.split(".") else read
        if _crosses(call, len(source.tokens), len(read.tokens)):
            crossing.append(call.layer)
            query, key = output_spelling, source
        call.label(query=query.tokens, key=key.tokens)
        spellings[call.layer] = query, key
    return Inspection(
        text=text,
        tokens=tuple(source.tokens),
        trace=trace,
        layer=main_layer(crossing, trace.layers),
        target=target if target is not None else tokenizer.decode(output_ids[0], skip_special_tokens=True),
        target_tokens=tuple(output_spelling.tokens),
        target_probabilities=_chances(output.logits[0], output_ids[0]),
        likely=_best(tokenizer, output.logits[0, -1]),
        model=_name(model),
        spellings=spellings,
    )


def _name(model: Any) -> str:
    """Name the model: its class, and the folder or repository it is from."""
    name = str(getattr(model.config, "name_or_path", "") or "").rstrip("/")
    return type(model).__name__ + (f", {name}" if name else "")


def _crosses(call: Call, source: int, target: int) -> bool:
    """Return whether a layer of the decoder attends to the source: by lengths, or by name where they are the same."""
    queries, keys = call.weights.shape[2:]
    if source != target:
        return (queries, keys) == (target, source)
    return any(part in call.layer.lower() for part in _CROSS)


def _likely(model: Any, tokenizer: Any, ids: Tensor, logits: Tensor) -> tuple[Likely, ...]:
    """Read the model's output layer, whichever of three it has."""
    if logits.ndim == 1:
        chances = logits.float().softmax(-1)
        names = getattr(model.config, "id2label", {})
        result = [Likely(str(names.get(index, index)), chance) for index, chance in enumerate(chances.tolist())]
        return tuple(sorted(result, key=lambda one: -one.probability))
    masks = (ids == tokenizer.mask_token_id).nonzero().flatten().tolist() if tokenizer.mask_token_id is not None else []
    if masks and logits.size(-1) >= len(tokenizer):
        return _best(tokenizer, logits[masks[0]])
    return _best(tokenizer, logits[-1]) if _generates(model) else ()


def _best(tokenizer: Any, logits: Tensor) -> tuple[Likely, ...]:
    best = logits.float().softmax(-1).topk(min(SHOWN, logits.size(-1)))
    return tuple(map(Likely, _pieces(tokenizer, best.indices), best.values.tolist()))


def _chances(logits: Tensor, output_ids: Tensor) -> tuple[float, ...]:
    """Give how likely each token was."""
    return tuple(logits.float().softmax(-1).gather(-1, output_ids.unsqueeze(-1)).squeeze(-1).tolist())


def _pieces(tokenizer: Any, ids: Tensor) -> list[str]:
    """Spell tokens as text where they are, without the space before; else as the vocabulary does."""
    names: Sequence[str | None] = tokenizer.convert_ids_to_tokens(ids.tolist())
    result = []
    for number, name in zip(ids.tolist(), names, strict=True):
        text = tokenizer.decode([number]).strip()
        result.append(text if text and "\ufffd" not in text else str(name))
    return result


def _spelling(tokenizer: Any, ids: Tensor) -> Spelling:
    """Give tokens with how the tokenizer writes them as text."""
    return Spelling(
        ids=ids.tolist(),
        tokens=_pieces(tokenizer, ids),
        special=set(tokenizer.all_special_ids),
        decode=partial(tokenizer.decode, clean_up_tokenization_spaces=False),
    )


def _check_length(name: str, model: Any, ids: Tensor) -> None:
    if not ids.numel():
        raise ArgumentError(f"`{name}` must have at least one token; received none.")
    most = getattr(model.config, "max_position_embeddings", None)
    if most is not None and ids.size(1) > most:
        raise ArgumentError(
            f"`{name}` must have at most the model's {most:,} tokens; received {ids.size(1):,}. Shorten it."
        )


def _generates(model: Any) -> bool:
    return hasattr(model, "can_generate") and bool(model.can_generate())


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
