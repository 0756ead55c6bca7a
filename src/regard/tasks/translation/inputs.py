"""Checks of the texts that a translator is asked for."""

from collections.abc import Sequence

from regard.data.batches.ragged import Ragged
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import Tokenizer
from regard.errors import ArgumentError, ArgumentTypeError


def check_texts(name: str, texts: Sequence[str]) -> None:
    """Raise unless these are texts."""
    if isinstance(texts, str):
        raise ArgumentError(f'`{name}` must be a list of sentences; received one string. Write ["{texts[:20]}"].')
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"`{name}` must be strings; received {type(text).__name__} at index {index}.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"`{name}` must be Unicode; received half a surrogate pair at index {index}, character {error.start}. "
                'Replace it: text.encode("utf-8", "replace").decode().'
            ) from error


def encode_prefixes(
    prefixes: Sequence[str | Sequence[int]], tokenizer: Tokenizer, *, count: int, most: int | None
) -> Ragged:
    """Give the tokens of what the outputs of `count` texts must begin with, or raise where they cannot.

    A prefix is a text, or its tokens; `most` are the tokens of the longest output.
    """
    texts = [item if isinstance(item, str) or not isinstance(item, Sequence) else "" for item in prefixes]
    check_texts("prefixes", prefixes if isinstance(prefixes, str) else texts)
    if len(prefixes) != count:
        raise ArgumentError(
            f"`prefixes` must have one entry for each of the {count} texts; received {len(prefixes)}. "
            'Give "" where any beginning will do.'
        )
    encoded = tokenizer.encode_batch(texts)
    rows = [encoded[index].tolist() if isinstance(item, str) else list(item) for index, item in enumerate(prefixes)]
    for index, text in enumerate(texts):
        if text and UNKNOWN in rows[index]:
            raise ArgumentError(
                f'`prefixes` must be text that the model can output; received "{text}" at index {index}, which has '
                "words outside its vocabulary. Use other words."
            )
        if most is not None and len(rows[index]) >= most:
            raise ArgumentError(
                f"`prefixes` must have fewer tokens than the longest output, {most:,}; received "
                f"{len(rows[index]):,} at index {index}. Shorten it."
            )
    return Ragged.from_lists(rows)
