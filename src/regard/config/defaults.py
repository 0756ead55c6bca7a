"""Settings that suit the data, where the user has not chosen: from the number of pairs and words, by plain rules."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from regard.config.read import chosen_whole


class DataSize(NamedTuple):
    """How much there is to train on."""

    pairs: int
    words: int
    """Words of the targets, as white space divides them."""
    vocabulary: int = 0
    """Different words of the targets, where they were counted."""
    builtin: bool = False
    """Whether it is a built-in corpus: a few hundred words, all of them frequent, with links from word to word."""
    linked: bool = False
    """Whether word links are known."""

    @property
    def tokens(self) -> int:
        """About how many target tokens: subwords and marks make 1.4 of a word."""
        return int(self.words * (1.2 if self.builtin else 1.4)) + self.pairs


def defaults_for(size: DataSize, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Give a table of settings for data of this size, to be laid under what the user has `chosen`.

    >>> defaults_for(DataSize(pairs=29_000, words=350_000), {})["train"]["batch_tokens"]
    2048
    """
    train = chosen.get("train", {})
    batch_tokens = chosen_whole(
        train, "batch_tokens", _by(size.pairs, {20_000: 1024, 100_000: 2048, 1_000_000: 4096}, 8192)
    )
    epochs = 6 if size.builtin else _by(size.pairs, {50_000: 15, 500_000: 10, 5_000_000: 5}, 3)
    accumulate = chosen_whole(train, "accumulate", 1)
    steps = int(epochs * size.tokens / (0.9 * batch_tokens * accumulate))  # a tenth is padding
    steps = chosen_whole(train, "steps", min(max(_round(steps), 200), 200_000))
    validate_every = chosen_whole(train, "validate_every", max(50, _round(steps // 15)))
    return {
        "tokenizer": _tokenizer(size),
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "validate_every": validate_every,
            "checkpoint_every": min(validate_every, 500),
            "log_every": max(1, min(50, _round(steps // 40))),
            "patience": 5,
            "schedule": {"warm_up": min(4000, max(1, steps // 10)), "rate": _rate(chosen)},
        },
    }


def hold_out_for(pairs: int) -> dict[str, float]:
    """Hold out about 200 pairs of a small corpus, at most a tenth, and at most 2,000 of a large one.

    >>> hold_out_for(1_000), hold_out_for(1_000_000)
    ({'valid': 0.1, 'test': 0.1}, {'valid': 0.002, 'test': 0.002})
    """
    share = round(min(0.1, max(200 / pairs, min(0.02, 2000 / pairs))), 4) if pairs else 0.1
    return {"valid": share, "test": share}


def _tokenizer(size: DataSize) -> dict[str, Any]:
    if size.builtin:
        return {"kind": "word", "joint": False, "min_frequency": 1}
    vocabulary = _by(size.pairs, {3_000: 1000, 30_000: 4000, 300_000: 8000, 3_000_000: 16_000}, 32_000)
    return {"kind": "bpe", "vocabulary_size": vocabulary}


def _rate(chosen: Mapping[str, Any]) -> float:
    model = chosen.get("model", {})
    wide = max(chosen_whole(model, "size", 0), chosen_whole(model, "hidden_size", 0))
    if str(model.get("kind", "recurrent")) == "transformer":
        return 5e-4 if wide > 256 else 2e-3
    return 4e-3 if wide <= 128 else 2e-3 if wide <= 512 else 1e-3


def _by(count: int, limits: dict[int, int], beyond: int) -> int:
    return next((value for limit, value in limits.items() if count < limit), beyond)


def _round(number: int) -> int:
    """Round to two digits, up: 1,234 is 1,300.

    >>> _round(1234), _round(7), _round(200)
    (1300, 7, 200)
    """
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
