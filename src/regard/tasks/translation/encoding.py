"""Pairs as token numbers: in memory where they are held there, else in files of the run folder."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Link, Pair
from regard.data.corpora.streamed import Pairs, StreamedPairs
from regard.data.corpora.token_files import TokenFiles
from regard.data.text.bpe_dropout import BpeDropout
from regard.data.text.tokenizer import TokenizerPair
from regard.errors import ArgumentError
from regard.tasks.translation.links import token_links
from regard.tasks.translation.settings import TranslationTrain
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


def encode_training(
    pairs: Pairs, tokenizers: TokenizerPair, settings: TranslationTrain, *, files: TrainingFiles | None, group: Group
) -> Examples | Callable[[int], Examples]:
    """Encode the pairs to train on: once, or by a function anew for each epoch where merges are dropped at random."""
    encode = _dropping(tokenizers, settings) if settings.bpe_dropout else _plain(tokenizers)
    of_epoch: Callable[[int], Examples]
    if not isinstance(pairs, StreamedPairs):
        if settings.bpe_dropout:
            again = _dropping_again(list(pairs), tokenizers, settings)
            return _Ahead(again) if group.device.type == "cuda" else again
        of_epoch = partial(_in_memory, list(pairs), encode)
    elif files is None:
        raise ArgumentError("`files` must say where the tokens of streamed pairs go; received None.")
    else:
        mark = f"{pairs.digest} {tokenizers.to_json()} {settings.bpe_dropout:g} {settings.seed}"
        of_epoch = partial(_in_files, pairs, encode, files=files, group=group, mark=mark)
    if settings.bpe_dropout:
        return of_epoch
    links = _links(pairs, tokenizers) if settings.guided_alignment else None
    return replace(of_epoch(0), links=links)


#: The tokens of both sides of some pairs, in an epoch, given the number of the first pair.
_Encode = Callable[[Sequence[Pair], int, int], tuple[Ragged, Ragged]]


def _plain(tokenizers: TokenizerPair) -> _Encode:
    def encode(pairs: Sequence[Pair], epoch: int, first: int) -> tuple[Ragged, Ragged]:
        del epoch, first
        examples = encode_pairs(pairs, tokenizers)
        return examples.source, examples.target

    return encode


def _dropping(tokenizers: TokenizerPair, settings: TranslationTrain) -> _Encode:
    merges = BpeDropout.of(tokenizers.source), BpeDropout.of(tokenizers.target)

    def encode(pairs: Sequence[Pair], epoch: int, first: int) -> tuple[Ragged, Ragged]:
        source, target = (
            merge.encode(
                merge.spell(texts),
                probability=settings.bpe_dropout,
                seed=2 * settings.seed + side,
                epoch=epoch,
                indices=range(first, first + len(pairs)),
            )
            for side, (merge, texts) in enumerate(zip(merges, _texts(pairs), strict=True))
        )
        return source, target

    return encode


def _dropping_again(
    pairs: Sequence[Pair], tokenizers: TokenizerPair, settings: TranslationTrain
) -> Callable[[int], Examples]:
    """Do the same for pairs that are held in memory, which are divided into characters once."""
    merges = BpeDropout.of(tokenizers.source), BpeDropout.of(tokenizers.target)
    spelled = [merge.spell(texts) for merge, texts in zip(merges, _texts(pairs), strict=True)]

    def encode(epoch: int) -> Examples:
        source, target = (
            merge.encode(texts, probability=settings.bpe_dropout, seed=2 * settings.seed + side, epoch=epoch)
            for side, (merge, texts) in enumerate(zip(merges, spelled, strict=True))
        )
        return Examples(source=source, target=target)

    return encode


def _texts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


class _Ahead:
    """Encodes the next epoch in a thread of its own while a GPU trains on this one."""

    def __init__(self, encode: Callable[[int], Examples]) -> None:
        self._encode = encode
        self._thread = ThreadPoolExecutor(1, "encoding")
        self._next: tuple[int, Future[Examples]] | None = None

    def __call__(self, epoch: int) -> Examples:
        ahead, self._next = self._next, None
        examples = ahead[1].result() if ahead is not None and ahead[0] == epoch else self._encode(epoch)
        self._next = epoch + 1, self._thread.submit(self._encode, epoch + 1)
        return examples


def _in_memory(pairs: list[Pair], encode: _Encode, epoch: int) -> Examples:
    source, target = encode(pairs, epoch, 0)
    return Examples(source=source, target=target)


def _in_files(
    pairs: StreamedPairs, encode: _Encode, epoch: int, *, files: TrainingFiles, group: Group, mark: str
) -> Examples:
    """Let the first process write the tokens of an epoch, unless they are there, and map them into memory."""
    mark = hashlib.sha256(f"{mark} {epoch}".encode()).hexdigest()
    written = TokenFiles(files.folder / f"epoch-{epoch}")
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
) -> Iterator[tuple[Ragged, Ragged]]:
    remaining, first = iter(pairs), 0
    while portion := list(islice(remaining, _AT_ONCE)):
        yield encode(portion, epoch, first)
        first += len(portion)
        if count is not None:
            count(first)


def _links(pairs: Pairs, tokenizers: TokenizerPair) -> list[tuple[Link, ...]]:
    linked = pairs.linked if isinstance(pairs, StreamedPairs) else any(pair.links for pair in pairs)
    if not linked:
        raise ArgumentError(
            "`train.guided_alignment` must be 0 for data without word links; name a file of links (data.links), or "
            "train on a built-in corpus."
        )
    return token_links(pairs, tokenizers)
