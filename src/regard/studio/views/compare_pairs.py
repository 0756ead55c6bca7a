"""Sentences to measure models on together: what all held out, else what one held out and no other was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.config.show import to_table
from regard.errors import DataError, RegardError
from regard.tasks.evaluation.held_out import Choice, HeldOut, check_trusted, find_held_out, named_data, run_of
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import Config

_SPLITS = ("test", "valid")


@dataclass(frozen=True, kw_only=True, eq=False)
class Common:
    """Pairs that several models can be measured on, and what is known of each."""

    held_out: HeldOut
    owner: str = ""
    """Whose they are; nothing where all held them out."""
    unsure: tuple[str, ...] = ()
    """Models of which nobody knows what they were trained on."""

    def source(self, name: str) -> str:
        """Describe where the figures of a model come from."""
        if name == self.owner or not self.owner:
            return "measured here"
        doubt = "; whether it was trained on them is not known" if name in self.unsure else ""
        return f"measured here, on sentences that {self.owner} held out{doubt}"


def find_common(folders: Mapping[str, Path]) -> Common:
    """Find pairs for all: test pairs that all held out, else those of one, else validation pairs in the same way.

    Of one model's pairs, those are left out whose source another was trained on, as far as its run knows.
    """
    problems: list[str] = []
    for split in _SPLITS:
        result: dict[str, HeldOut] = {}
        for name, path in folders.items():
            if run_of(path) is None:
                continue
            try:
                result[name] = find_held_out(Choice(split=split), path)
            except (RegardError, OSError) as error:
                problems.append(str(error).split(" Name a test set")[0])
        if len(result) == len(folders) and len({item.fingerprint for item in result.values()}) == 1:
            return Common(held_out=next(iter(result.values())))
        for owner, held_out in result.items():
            common = _without_training(owner, held_out, {name: path for name, path in folders.items() if name != owner})
            if common.held_out.pairs:
                return common
    raise DataError(
        f"The models must have sentences to be measured on; received none that {_listed(list(folders))} may be "
        f"measured on together{': ' + problems[0] if problems else '.'} Choose a model whose run held out sentences "
        "that no other was trained on."
    )


def _without_training(owner: str, held_out: HeldOut, others: Mapping[str, Path]) -> Common:
    """Leave out the pairs of one model that others were trained on."""
    sources, trained, unsure = set(held_out.sources), set[str](), []
    for name, path in others.items():
        read = _trained_on(path, sources)
        if read is None:
            unsure.append(name)
        else:
            trained |= read
    pairs = [pair for pair in held_out.pairs if pair.source not in trained]
    left_out = len(held_out.pairs) - len(pairs)
    if left_out:
        name = f"{held_out.name}, without {left_out:,} that {_listed(list(others))} learned from"
        held_out = replace(held_out, pairs=pairs, name=name, report=None, lines=())
    return Common(held_out=held_out, owner=owner, unsure=tuple(unsure))


def _trained_on(path: Path, wanted: set[str]) -> set[str] | None:
    """Give those of the sources that a model was trained on; nothing where its data is not known any more."""
    run = run_of(path)
    if run is None:
        return None
    try:
        data = run.read_settings(Config).data
        check_trusted(run, named_data(data), trust=False)
        train = gather_pairs(to_table(data)).train
    except (RegardError, OSError):
        return None
    return {pair.source for pair in train if pair.source in wanted}


def _listed(names: Sequence[str]) -> str:
    """Write names in a row.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
