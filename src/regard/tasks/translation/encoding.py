"""Pairs as token numbers: in memory where they are held there, else in files of the run folder."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.batches.word_links import WordLinks, kept_links
from regard.data.corpora.pair import Pair
from regard.data.corpora.streamed import Pairs, StreamedPairs
from regard.data.corpora.token_files import TokenFiles
from regard.data.text.bpe_dropout import BpeDropout
from regard.data.text.tokenizer import Tokenizer, TokenizerPair
from regard.errors import ArgumentError
from regard.training.group import Group

_AT_ONCE = 8192


@dataclass(frozen=True, kw_only=True)
class TrainingFiles:
    """Where the tokens of pairs that are not held in memory go; they can be made again at any time."""

    folder: Path
    count: Callable[[int], None] | None = None
    """Receives now and then how many pairs are done."""


def encode_pairs(pairs: Sequence[Pair], tokenizers: TokenizerPair) -> Examples:
    """Encode pairs that are held in memory."""
    return Examples(
        source=tokenizers.source.encode_batch(pair.source for pair in pairs),
        target=tokenizers.target.encode_batch(pair.target for pair in pairs),
    )


def encode_portions(pairs: Pairs, tokenizers: TokenizerPair) -> Iterator[Examples]:
    """Encode pairs that need not be held in memory, some thousand at a time."""
    remaining = iter(pairs)
    while portion := list(islice(remaining, _AT_ONCE)):
        yield encode_pairs(portion, tokenizers)


@runtime_checkable
class EncodingSettings(Protocol):
    """What the settings of a run decide about its tokens."""

    @property
    def seed(self) -> int:
        """Fixes which merges are left out."""

    @property
    def bpe_dropout(self) -> float:
        """Share of merges left out at random, anew in each epoch."""

    @property
    def guided_alignment(self) -> float:
        """Above 0 where the links of the pairs are wanted."""


def encode_training(
    pairs: Pairs, tokenizers: TokenizerPair, settings: EncodingSettings, *, files: TrainingFiles | None, group: Group
) -> Examples | Callable[[int], Examples]:
    """Encode the pairs to train on: once, or by a function anew for each epoch where merges are dropped at random."""
    if settings.guided_alignment:
        _check_linked(pairs)
    encode = _dropping(tokenizers, settings) if settings.bpe_dropout else _plain(tokenizers, settings)
    of_epoch: Callable[[int], Examples]
    if not isinstance(pairs, StreamedPairs):
        if settings.bpe_dropout:
            again = _dropping_again(list(pairs), tokenizers, settings)
            return _Ahead(again) if group.device.type == "cuda" else again
        of_epoch = partial(_in_memory, list(pairs), encode)
    elif files is None:
        raise ArgumentError("`files` must say where the tokens of streamed pairs go; received None.")
    else:
        linked = settings.guided_alignment > 0
        mark = f"{pairs.digest} {tokenizers.to_json()} {settings.bpe_dropout:g} {settings.seed} {linked}"
        of_epoch = partial(_in_files, pairs, encode, files=files, group=group, mark=mark, linked=linked)
    return of_epoch if settings.bpe_dropout else of_epoch(0)


#: The tokens of some pairs, and their links where they are wanted, in an epoch, given the number of the first pair.
_Encode = Callable[[Sequence[Pair], int, int], Examples]


def _plain(tokenizers: TokenizerPair, settings: EncodingSettings) -> _Encode:
    def encode(pairs: Sequence[Pair], epoch: int, first: int) -> Examples:
        del epoch, first
        plain = encode_pairs(pairs, tokenizers)
        if not settings.guided_alignment:
            return plain
        links = _links(pairs)
        texts, linked = _texts(pairs), np.flatnonzero(links.lengths)
        source = plain.source, _words_of_tokens(tokenizers.source, texts[0], plain.source, linked)
        target = plain.target, _words_of_tokens(tokenizers.target, texts[1], plain.target, linked)
        return _with_links(links, source, target)

    return encode


def _dropping(tokenizers: TokenizerPair, settings: EncodingSettings) -> _Encode:
    merges = BpeDropout.of(tokenizers.source), BpeDropout.of(tokenizers.target)
    linked = settings.guided_alignment > 0

    def encode(pairs: Sequence[Pair], epoch: int, first: int) -> Examples:
        spelled = [merge.spell(texts, words=linked) for merge, texts in zip(merges, _texts(pairs), strict=True)]
        source, target = (
            merge.encode_with_words(
                texts,
                probability=settings.bpe_dropout,
                seed=2 * settings.seed + side,
                epoch=epoch,
                indices=range(first, first + len(pairs)),
            )
            for side, (merge, texts) in enumerate(zip(merges, spelled, strict=True))
        )
        links = _links(pairs) if linked else None
        return _with_links(links, source, target)

    return encode


def _dropping_again(
    pairs: Sequence[Pair], tokenizers: TokenizerPair, settings: EncodingSettings
) -> Callable[[int], Examples]:
    """Do the same for pairs that are held in memory, which are divided into characters once."""
    merges = BpeDropout.of(tokenizers.source), BpeDropout.of(tokenizers.target)
    linked = settings.guided_alignment > 0
    spelled = [merge.spell(texts, words=linked) for merge, texts in zip(merges, _texts(pairs), strict=True)]
    links = _links(pairs) if linked else None

    def encode(epoch: int) -> Examples:
        source, target = (
            merge.encode_with_words(texts, probability=settings.bpe_dropout, seed=2 * settings.seed + side, epoch=epoch)
            for side, (merge, texts) in enumerate(zip(merges, spelled, strict=True))
        )
        return _with_links(links, source, target)

    return encode


class _Ahead:
    """Encodes the next epoch in a thread of its own while a GPU trains on this one."""

    def __init__(self, encode: Callable[[int], Examples]) -> None:
        self._encode = encode
        self._next: tuple[int, Future[Examples]] | None = None

    def __call__(self, epoch: int) -> Examples:
        ahead, self._next = self._next, None
        examples = ahead[1].result() if ahead is not None and ahead[0] == epoch else self._encode(epoch)
        self._next = epoch + 1, Future()
        Thread(target=self._fill, args=self._next, name="encoding", daemon=True).start()  # no exit waits for it
        return examples

    def _fill(self, epoch: int, result: Future[Examples]) -> None:
        try:
            result.set_result(self._encode(epoch))
        except BaseException as error:
            result.set_exception(error)


def _in_memory(pairs: list[Pair], encode: _Encode, epoch: int) -> Examples:
    return encode(pairs, epoch, 0)


def _texts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def _links(pairs: Sequence[Pair]) -> Ragged:
    return Ragged.from_lists(kept_links(pair) for pair in pairs)


def _words_of_tokens(tokenizer: Tokenizer, texts: Sequence[str], tokens: Ragged, linked: NDArray[np.int64]) -> Ragged:
    """Give for each token the position of its word; 0 in texts without links, whose words nothing asks for."""
    words = np.zeros_like(tokens.values)
    for index in linked.tolist():
        words[tokens.offsets[index] : tokens.offsets[index + 1]] = tokenizer.encode(texts[index]).words
    return Ragged(values=words, offsets=tokens.offsets)


def _with_links(
    links: Ragged | None, source: tuple[Ragged, Ragged | None], target: tuple[Ragged, Ragged | None]
) -> Examples:
    """Put tokens, the words of the tokens and the links of the words, if they are wanted, together."""
    if links is None:
        return Examples(source=source[0], target=target[0])
    assert source[1] is not None
    assert target[1] is not None
    words = WordLinks(source_words=source[1], target_words=target[1], links=links)
    return Examples(source=source[0], target=target[0], links=words)


def _in_files(
    pairs: StreamedPairs, encode: _Encode, epoch: int, *, files: TrainingFiles, group: Group, mark: str, linked: bool
) -> Examples:
    """Let the first process write the tokens of an epoch, unless they are there, and map them into memory."""
    mark = hashlib.sha256(f"{mark} {epoch}".encode()).hexdigest()
    written = TokenFiles(files.folder / f"epoch-{epoch}", linked)
    if group.leads and written.open(mark=mark) is None:
        for old in files.folder.glob("epoch-*"):  # of the epoch before
            shutil.rmtree(old)
        written.write(_portions(pairs, encode, epoch, files.count), mark=mark)
    group.share_text("written")
    result = written.open(mark=mark)
    if result is None:
        raise ArgumentError(f"{written.folder} must hold the tokens of epoch {epoch}; received other files. Try again.")
    return result


def _portions(
    pairs: Pairs, encode: _Encode, epoch: int, count: Callable[[int], None] | None
) -> Iterator[tuple[Ragged, ...]]:
    remaining, first = iter(pairs), 0
    while portion := list(islice(remaining, _AT_ONCE)):
        made = encode(portion, epoch, first)
        links = made.links
        words = () if links is None else (links.source_words, links.target_words, links.links)
        yield made.source, made.target, *words
        first += len(portion)
        if count is not None:
            count(first)


def _check_linked(pairs: Pairs) -> None:
    linked = pairs.linked if isinstance(pairs, StreamedPairs) else any(pair.links for pair in pairs)
    if not linked:
        raise ArgumentError(
            "`train.guided_alignment` must be 0 for data without word links; name a file of links (data.links), or "
            "train on a built-in corpus."
        )
