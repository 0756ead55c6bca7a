"""Translate with an export for CTranslate2: the same texts, alignments and JSON as a translator of ours gives.

The folder holds what CTranslate2 reads, our tokenizers, and regard.json, which describes the model. Weights of the
attention come from CTranslate2 itself: of the layer that alignments are read from, the mean over the heads, or the
first where that was trained on word links.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.config.model import SavedModel
from regard.data.batches.bucketing import make_index_batches
from regard.data.batches.ragged import Ragged
from regard.data.respelling import Respelled, Respeller, begin_as
from regard.data.text.special import END, SPECIAL_TOKENS, UNKNOWN
from regard.data.text.tokenizer import TokenizerPair
from regard.data.untrained import Untrained
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError
from regard.export.ctranslate2_file import check_file
from regard.export.ctranslate2_spec import POSITIONS, require_ctranslate2
from regard.export.folder import read_about
from regard.files import LARGE, read_json
from regard.tasks.translation.inputs import check_texts, encode_prefixes
from regard.tasks.translation.model import MAX_SOURCE_LENGTH
from regard.tasks.translation.result import Translation, as_line
from regard.tasks.translation.search_batches import Reach
from regard.tasks.translation.searcher import BATCH_TOKENS
from regard.tasks.translation.unknown_words import replace_unknown

_CONFIG = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "decoder_start_token": "<s>"}
"""What CTranslate2's config.json says; all else is false or left out."""
_END = SPECIAL_TOKENS[END]
_FORCED_TOKENS = 4096
"""Tokens of outputs that are read once more at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineHypothesis(Hypothesis):
    """An output of an engine that tells the probability of the whole, and not of each token."""

    total: float = 0.0

    @property
    def log_probability(self) -> float:
        """That of the whole output."""
        return self.total


class CTranslate2Translator:
    """Plain text in, plain text out, by CTranslate2. `load_ctranslate2` reads one from a folder."""

    def __init__(
        self,
        engine: Any,
        tokenizers: TokenizerPair,
        *,
        untrained: Untrained,
        replaces_unknown: bool = True,
        dictionary: Mapping[str, str] | None = None,
        max_source_length: int = MAX_SOURCE_LENGTH,
        respell: bool = True,
    ) -> None:
        self.engine, self.tokenizers = engine, tokenizers
        self.reach = Reach(source=min(max_source_length, POSITIONS - 1), target=POSITIONS - 1)
        self.dictionary = dict(dictionary or {})
        self.replaces_unknown = replaces_unknown and tokenizers.target.kind == "word"
        self._respeller = Respeller(tokenizers.source, unused=untrained.source) if respell else None
        self._names = [side.pieces(range(side.size)) for side in tokenizers]
        self._numbers = {name: number for number, name in enumerate(self._names[1])}

    @property
    def why_step_by_step(self) -> None:
        """No step is captured by this engine, and none is missed."""

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """Translate sentences, and give the best output of each, in order."""
        return [outputs[0].text for outputs in self.search(texts, search)]

    def search(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        prefixes: Sequence[str | Sequence[int]] | None = None,
        weights: bool = False,
        batch_tokens: int | None = None,
    ) -> list[list[Translation]]:
        """Give the `n_best` outputs of each sentence, best first; an empty sentence gives an empty text."""
        check_texts("texts", texts)
        search = search or Search()
        check_search(search)
        read = [Respelled(text, {}) for text in texts] if self._respeller is None else self._respeller(texts)
        source = self.tokenizers.source.encode_batch([item.text for item in read])
        cut = np.maximum(source.lengths - (self.reach.source - 1), 0)
        begin = None
        if prefixes is not None:
            most = min(search.max_length or POSITIONS, POSITIONS - 1)
            begin = encode_prefixes(prefixes, self.tokenizers.target, count=len(texts), most=most)
        lengths = np.minimum(source.lengths, self.reach.source - 1) + 1
        named = [
            [*(self._names[0][item] for item in source[row][: lengths[row] - 1]), _END] for row in range(len(texts))
        ]
        result: list[list[EngineHypothesis]] = [[_NOTHING]] * len(texts)
        rows = np.flatnonzero(lengths > 1)
        for indices in make_index_batches(
            lengths[rows],
            lengths[rows],
            tokens=max(1, (batch_tokens or BATCH_TOKENS["cpu"]) // search.beam),
            shuffle=False,
        ):
            chosen = rows[indices].tolist()
            for row, outputs in zip(
                chosen, self._run([named[row] for row in chosen], begin, chosen, search), strict=True
            ):
                result[row] = outputs
        if weights or self.replaces_unknown:
            result = self._with_weights(named, result, everywhere=weights)
        typed = [""] * len(texts) if begin is not None else texts
        return [
            [
                Translation(
                    source=text,
                    read=read[row],
                    text=self._write(typed[row], read[row].text, item),
                    hypothesis=item if weights or item.weights is None else replace(item, weights=None),
                    source_ids=source[row][: lengths[row] - 1],
                    tokenizers=self.tokenizers,
                    cut=int(cut[row]),
                )
                for item in result[row]
            ]
            for row, text in enumerate(texts)
        ]

    def _run(
        self, source: list[list[str]], begin: Ragged | None, rows: list[int], search: Search
    ) -> list[list[EngineHypothesis]]:
        """Search for the outputs of some rows."""
        prefix = None if begin is None else [self.tokenizers.target.pieces(begin[row].tolist()) for row in rows]
        begun = 0 if prefix is None else max(map(len, prefix))
        longest = search.max_length or max(2 * max(map(len, source)) + 20 + begun, search.min_length + 1)
        answers = self.engine.translate_batch(
            source,
            target_prefix=prefix,
            beam_size=max(search.beam, search.n_best),
            num_hypotheses=search.n_best,
            length_penalty=search.length_penalty,
            no_repeat_ngram_size=search.no_repeat_ngram,
            min_decoding_length=search.min_length,
            max_decoding_length=min(longest, POSITIONS - 1),
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return [self._hypotheses(answer, search) for answer in answers]

    def _with_weights(
        self, source: list[list[str]], result: list[list[EngineHypothesis]], *, everywhere: bool
    ) -> list[list[EngineHypothesis]]:
        """Read outputs once more, to see what was attended to: all of them, or those with words that are unknown.

        Beam search of CTranslate2 4.8 gives the attention of a batch's first sentence alone; a forced output gives it
        right.
        """
        chosen = [
            (row, rank)
            for row, outputs in enumerate(result)
            for rank, item in enumerate(outputs)
            if item.tokens and (everywhere or UNKNOWN in item.tokens)
        ]
        lengths = np.array(
            [max(len(source[row]), len(result[row][rank].tokens)) for row, rank in chosen], dtype=np.int64
        )
        complete = [list(outputs) for outputs in result]
        for indices in make_index_batches(lengths, lengths, tokens=_FORCED_TOKENS, shuffle=False):
            batch = [chosen[index] for index in indices.tolist()]
            outputs = [result[row][rank] for row, rank in batch]
            for (row, rank), weights in zip(
                batch, self._force([source[row] for row, _ in batch], outputs), strict=True
            ):
                complete[row][rank] = replace(complete[row][rank], weights=weights)
        return complete

    def _force(self, source: list[list[str]], outputs: list[EngineHypothesis]) -> list[Tensor]:
        """Give the weights of outputs, each (1, 1, target, source): one layer, one head or the mean of all."""
        names = [self.tokenizers.target.pieces(item.tokens[: len(item.tokens) - item.finished]) for item in outputs]
        answers = self.engine.translate_batch(
            source,
            target_prefix=names,
            beam_size=1,
            max_decoding_length=max(map(len, names)) + 1,
            max_input_length=0,
            return_attention=True,
            return_end_token=True,
        )
        rows = [np.asarray(answer.attention[0], dtype=np.float32) for answer in answers]
        return [torch.from_numpy(row[: len(item.tokens)])[None, None] for row, item in zip(rows, outputs, strict=True)]

    def _hypotheses(self, answer: Any, search: Search) -> list[EngineHypothesis]:
        result = []
        for number, names in enumerate(answer.hypotheses):
            score = float(answer.scores[number])
            tokens = tuple(self._numbers[name] for name in names)
            result.append(
                EngineHypothesis(
                    tokens=tokens,
                    log_probabilities=(),
                    finished=bool(tokens) and tokens[-1] == END,
                    score=score,
                    total=score * len(tokens) ** search.length_penalty,
                )
            )
        return result

    def _write(self, typed: str, read: str, output: Hypothesis) -> str:
        target = self.tokenizers.target
        text = target.decode(output.tokens)
        if self.replaces_unknown and output.weights is not None and UNKNOWN in output.tokens:
            text = replace_unknown(output.tokens, output.weights, read, self.tokenizers, self.dictionary)
        return begin_as(typed, read, as_line(text), target)


_NOTHING = EngineHypothesis(tokens=(), log_probabilities=(), finished=True)


def check_search(search: Search) -> None:
    """Raise for what CTranslate2 does otherwise, or not at all."""
    if search.sampling is not None:
        raise ArgumentError(
            '`sampling` must be left out with `engine="ctranslate2"`, whose draws cannot be repeated; received it. '
            "Leave out `engine`."
        )
    if search.coverage_penalty:
        raise ArgumentError(
            f'`coverage_penalty` must be 0 with `engine="ctranslate2"`; received {search.coverage_penalty}. Leave out '
            "`engine`."
        )


def load_ctranslate2(
    folder: str | Path,
    *,
    device: str = "cpu",
    unknown: str = "replace",
    dictionary: Mapping[str, str] | None = None,
    max_source_length: int = MAX_SOURCE_LENGTH,
    respell: bool = True,
    threads: int = 0,
) -> CTranslate2Translator:
    """Load what `regard export --to ctranslate2` wrote; the settings are those of `Translator`."""
    folder = Path(folder)
    package = require_ctranslate2()
    config, precision = read_about(folder, "ctranslate2")
    tokenizers = TokenizerPair.load(folder)
    _check_folder(folder, config, tokenizers)
    untrained = Untrained.load(folder, tokenizers)
    if device == "auto":
        device = "cuda" if package.get_cuda_device_count() else "cpu"
    plain = precision == "float16" and device == "cpu"  # which has no products of halves
    try:
        engine = package.Translator(
            str(folder), device=device, intra_threads=threads, compute_type="float32" if plain else "default"
        )
    except (RuntimeError, ValueError) as error:
        raise DataError(f"{folder} must be a model that CTranslate2 reads; it says: {error}.") from error
    return CTranslate2Translator(
        engine,
        untrained.mark(tokenizers),
        untrained=untrained,
        replaces_unknown=unknown == "replace",
        dictionary=dictionary,
        max_source_length=max_source_length,
        respell=respell,
    )


def _check_folder(folder: Path, config: SavedModel, tokenizers: TokenizerPair) -> None:
    """See that every file fits the description, before CTranslate2 reads it."""
    check_file(folder / "model.bin", config)
    if strange := [path.name for path in folder.iterdir() if path.suffix == ".txt"]:  # which CTranslate2 may read
        raise DataError(f"{folder} must hold what the export wrote; received {strange[0]} as well. Remove it.")
    settings = {name: value for name, value in read_json(folder / "config.json").table().items() if value}
    if settings != _CONFIG:
        raise DataError(f"{folder / 'config.json'} must be what the export wrote; received other settings.")
    for name, side in zip(("source", "target"), tokenizers, strict=True):
        shared = folder / "shared_vocabulary.json"
        path = shared if shared.is_file() else folder / f"{name}_vocabulary.json"
        if read_json(path, most=LARGE).value != side.pieces(range(side.size)):
            raise DataError(f"{path} must list the {side.size:,} tokens of tokenizer.json; received others.")
