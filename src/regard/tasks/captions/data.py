"""Gather the pictures and captions of a run, drawn here or read from a folder."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from regard.config.picture_data import BUILTIN, PictureData, PictureSize
from regard.data.corpora.catalogue import is_builtin
from regard.data.scenes.sides import CaptionSide, draw_captions
from regard.errors import ArgumentError
from regard.tasks.questions.data import check_style, scene_counts


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
    """Draw what `data` names; `count` is told how many pictures there are so far, of all sides."""
    if not is_builtin(data.corpus):
        received = data.corpus or "nothing"
        raise ArgumentError(f"`data` must be {BUILTIN}, whose pictures have captions; received {received}.")
    style = check_style(data, "captions")
    counts = scene_counts(data)
    return CaptionCorpus(**draw_captions(counts, seed=data.seed, style=style, answers=data.answers, count=count))
