"""Gather the pictures and captions of a run: drawn or read, held out, and none on two sides."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.data.corpora.catalogue import is_builtin
from regard.data.scenes.read import read_captions
from regard.data.scenes.sides import CaptionSide, draw_captions
from regard.errors import ArgumentError
from regard.tasks.questions.data import check_style, hold_out, keep_apart, scene_counts
from regard.tasks.questions.settings import BUILTIN, PICTURE_SIZE, PictureData, PictureSize


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptionCorpus:
    """What a captioner is trained, validated and tested on."""

    train: CaptionSide
    valid: CaptionSide
    test: CaptionSide

    @property
    def size(self) -> PictureSize:
        """How much there is to train on."""
        words = sum(len(caption.split()) for caption in self.train.captions)
        return PictureSize(pictures=len(self.train), words=words)

    def fingerprint(self) -> str:
        """Give a number for all pictures and captions, in their order."""
        digest = hashlib.blake2b(digest_size=16)
        for side in (self.train, self.valid, self.test):
            digest.update(side.pictures.tobytes())
            digest.update("\0".join(side.captions).encode())
            digest.update("\0".join(side.prompts).encode())
        return digest.hexdigest()


def gather_captions(data: PictureData, *, count: Callable[[int], None] | None = None) -> CaptionCorpus:
    """Draw or read what `data` names; `count` is called with how many pictures there are so far, of all sides."""
    if not data.corpus:
        raise ArgumentError(
            f"`data` must be {BUILTIN}, a table of pictures with captions (CSV, TSV, JSON Lines, Parquet), or a folder "
            "with one; received nothing."
        )
    if is_builtin(data.corpus):
        style, counts = check_style(data, "captions"), scene_counts(data)
        return CaptionCorpus(**draw_captions(counts, seed=data.seed, style=style, answers=data.answers, count=count))
    if data.answers:
        raise ArgumentError(
            f"`data.answers` must be left out with {data.corpus}, which has captions alone; received {data.answers}."
        )
    sides = read_captions(Path(data.corpus), image_size=data.image_size or PICTURE_SIZE, count=count)
    keep_apart(sides)
    train, valid, test = hold_out(sides, data, called="captions")
    return CaptionCorpus(train=train, valid=valid, test=test)
