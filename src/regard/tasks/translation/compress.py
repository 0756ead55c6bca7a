"""A translator's model folder made small and quick: matrices in int8, and a shortlist of output words."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.data.corpora.pair import Pair
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import FILE as UNTRAINED
from regard.decoding.shortlist import FILE as SHORTLIST
from regard.decoding.shortlist import Shortlist
from regard.errors import ArgumentError
from regard.models.folder import PARAMETERS, load_model, save_model
from regard.models.statistical.translator import StatisticalModel
from regard.tasks.model_folder import check_kind, open_model

_COPIED = ("tokenizer.json", UNTRAINED, SHORTLIST)


class Compressed(NamedTuple):
    """What was made of a model folder."""

    before: int
    """Bytes of the parameters."""
    after: int
    """The same, in int8."""
    shortlist: int
    """Bytes of the shortlist; 0 where there is none."""


def compress(path: str | Path, output: Path, *, pairs: Sequence[Pair] = ()) -> Compressed:
    """Write the translator of a model folder or run into a new folder, matrices in int8.

    From sentence pairs, best those it was trained on, it also learns a shortlist. The folder is complete or not there.
    """
    if output.exists():
        raise ArgumentError(f"`output` must be a folder that is not there yet; received {output}. Choose another name.")
    folder = open_model(path)
    check_kind(folder, "translate")
    model, config = load_model(folder)
    if isinstance(model, StatisticalModel):
        raise ArgumentError(f"`path` must be a network's folder; received {path}, a translator that counts words.")
    building = output.with_name(output.name + ".part")
    shutil.rmtree(building, ignore_errors=True)
    try:
        save_model(
            model,
            config.model,
            building,
            source_vocabulary=config.source_vocabulary,
            target_vocabulary=config.target_vocabulary,
            guided_head=config.guided_head,
            int8=True,
        )
        for name in _COPIED:
            if (folder / name).is_file():
                shutil.copyfile(folder / name, building / name)
        if pairs:
            learn_shortlist(pairs, TokenizerPair.load(folder)).save(building)
        building.rename(output)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    listed = output / SHORTLIST
    return Compressed(_size(folder / PARAMETERS), _size(output / PARAMETERS), _size(listed) if pairs else 0)


def learn_shortlist(pairs: Sequence[Pair], tokenizers: TokenizerPair) -> Shortlist:
    """Learn which target tokens go with each source token, `</s>` left out, which is always on the list."""
    source = tokenizers.source.encode_batch([pair.source for pair in pairs])
    target = tokenizers.target.encode_batch([pair.target for pair in pairs])
    kept = [index for index in range(len(pairs)) if len(source[index]) and len(target[index])]
    sides = ([side[index].tolist() for index in kept] for side in (source, target))
    return Shortlist.learn(*sides, source_vocabulary=tokenizers.source.size)


def _size(path: Path) -> int:
    return path.stat().st_size
