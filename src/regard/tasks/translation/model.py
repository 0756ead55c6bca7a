"""A trained translator, ready for use: `regard.load(folder)` gives one."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config.model import SavedModel
from regard.data.batches.bucketing import make_index_batches
from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Pair
from regard.data.respelling import Respelled, Respeller, begin_as
from regard.data.text.special import END, START, UNKNOWN
from regard.data.text.tokenizer import TokenizerPair
from regard.data.text.word_spans import Division
from regard.data.untrained import Untrained
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.decoding.shortlist import Shortlist
from regard.decoding.tree import BeamTree, decode_with_tree
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import Reading
from regard.inspection.trace.inspected import Inspection
from regard.models.precision import Precision, in_precision
from regard.models.sequence.build import Model, TranslationModel, count_parameters
from regard.models.sequence.protocol import AnyModel
from regard.models.sequence.recurrent import RecurrentModel
from regard.models.sequence.transformer import TransformerModel
from regard.models.statistical.translator import StatisticalModel
from regard.tasks.alignment.result import Alignment
from regard.tasks.finite_output import check_output
from regard.tasks.model_folder import check_kind, open_model
from regard.tasks.saved_model import shared_tokenizers
from regard.tasks.translation.inputs import check_texts, encode_prefixes
from regard.tasks.translation.parts import read_parts, shares_vectors
from regard.tasks.translation.result import Translation, as_line
from regard.tasks.translation.search_batches import add_weights, find_reach, force_batches, search_batches
from regard.tasks.translation.searcher import Searcher
from regard.tasks.translation.unknown_words import replace_unknown
from regard.training.group import pick_device

if TYPE_CHECKING:
    from regard.tasks.translation.markup.tokens import Markup

__all__ = ["Translation", "Translator", "load"]

Unknown: TypeAlias = Literal["replace", "keep"]
MAX_SOURCE_LENGTH = 1024
_KINDS: dict[type, str] = {
    RecurrentModel: "recurrent",
    TransformerModel: "transformer",
    StatisticalModel: "statistical",
}


class Translator:
    """A model with its tokenizers: plain text in, plain text out.

    - `model`: one, in evaluation mode, or several with one vocabulary, whose probabilities are averaged.
    - `unknown`: a model of whole words outputs `<unk>` for words outside its vocabulary. "replace" puts
      the source word that it attends to most there, or the entry of that word in `dictionary`; "keep" leaves it.
    - `max_source_length`: tokens that are read of one sentence, `</s>` included; the rest of a longer one is left out,
      which `Translation.cut` counts. Where positions are learned, the model may take fewer.
    - `respell`: read words that are unknown as typed, but known with other accents or case, as the model knows them
      (see `regard.data.respelling`); `Translation.read` says which. `untrained` are the tokens it has not learned.
    """

    def __init__(
        self,
        model: TranslationModel | Sequence[TranslationModel],
        tokenizers: TokenizerPair,
        config: SavedModel | None = None,
        *,
        unknown: Unknown = "replace",
        dictionary: Mapping[str, str] | None = None,
        max_source_length: int = MAX_SOURCE_LENGTH,
        respell: bool = True,
        untrained: Untrained | None = None,
    ) -> None:
        if unknown not in get_args(Unknown):
            raise ArgumentError(f'`unknown` must be replace or keep; received "{unknown}".')
        if max_source_length < 2:
            raise ArgumentError(f"`max_source_length` must be at least 2; received {max_source_length}.")
        self.models = tuple(model) if isinstance(model, Sequence) else (model,)
        self.num_parameters = sum(map(count_parameters, self.models))
        self.tokenizers, self.config = tokenizers, config
        self.dictionary = dict(dictionary or {})
        self.replaces_unknown = unknown == "replace" and tokenizers.target.kind == "word"
        self.reach = find_reach(self.models, max_source_length)
        guided = config.guided_head if config is not None and len(self.models) == 1 else None
        self.reading = Reading(head=guided)  # where nothing else is chosen
        self.respells = respell
        unused = untrained or Untrained()
        self._respellers = [Respeller(side, unused=lacking) for side, lacking in zip(tokenizers, unused, strict=True)]
        self.shortlist: Shortlist | None = None
        self._captures = True
        self._renew()

    def _renew(self) -> "Translator":
        self._searcher = Searcher(self.models, self.reach, self.shortlist, self.device, captures=self._captures)
        return self

    @property
    def predictor(self) -> AnyModel:
        """What predicts: the only model, or all of them together."""
        return self._searcher.predictor

    @property
    def model(self) -> TranslationModel:
        """The only model, or the first."""
        return self.models[0]

    @property
    def network(self) -> Model:
        """The model, where it is a network; one that counts is an error."""
        if isinstance(self.model, StatisticalModel):
            raise ArgumentError(
                "`model` must be a network that attends; received a statistical translator, which counts words and has "
                "no attention. Train one that has: `regard train --preset bahdanau`. Words are aligned by counts alone "
                "with `regard align ibm-1`."
            )
        return self.model

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(chain(self.model.parameters(), self.model.buffers())).device

    def to(self, device: torch.device | str) -> "Translator":
        """Move the model, and give the translator itself."""
        for model in self.models:
            model.to(device)
        return self._renew()

    def set_precision(self, precision: Precision) -> "Translator":
        """Compute with matrices of that precision from here on, and give the translator itself.

        int8 is quicker on a CPU and bfloat16 on a GPU; outputs may differ a little. What was lost does not come back.
        """
        self.models = tuple(in_precision(item, precision) for item in self.models)
        return self._renew()

    def step_by_step(self) -> "Translator":
        """On a GPU, search without captured steps, and give the translator itself: for a model that is in training."""
        self._captures = False
        return self._renew()

    def use_shortlist(self, shortlist: Shortlist | None) -> "Translator":
        """On a CPU, predict only the words that it lists for the sources of a batch; give the translator itself."""
        self.shortlist = shortlist
        return self._renew()

    @property
    def why_step_by_step(self) -> str | None:
        """Why the last search on a GPU was not run by captured steps; None where it was, and on a CPU."""
        return self._searcher.captured.reason

    def read(self, texts: Sequence[str], *, side: Literal["source", "target"] = "source") -> list[Respelled]:
        """Give texts as the model reads them: words that it knows with other accents or case are respelled."""
        if not self.respells:
            return [Respelled(text, {}) for text in texts]
        return self._respellers[side == "target"](texts)

    def translate(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        markup: "Markup | None" = None,
        terms: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Translate sentences, and give the best output of each, in order.

        Without `search` it is beam search, five wide. A sentence of nothing, or of spaces, gives an empty text.

        - `prefixes`: how each output must begin; see `search`.
        - `markup`: carry tags (html, xml) or placeholders along to the words that translate theirs.
        - `terms`: translations that outputs must have where the source has what they translate.
        """
        from regard.tasks.translation.markup.search import search_marked  # imports this module

        outputs = search_marked(self, texts, search, form=markup, terms=terms, prefixes=prefixes)
        outcome = [item[0] for item in outputs]
        cut = [index for index, item in enumerate(outcome) if item.cut]
        if cut:
            warnings.warn(
                f"{len(cut)} of {len(outcome)} texts, the first at index {cut[0]}, had more than {self.reach.source:,} "
                "tokens, which is how many are read; the rest was left out. Divide them into sentences.",
                stacklevel=2,
            )
        return [item.text if item.with_marks is None else item.with_marks for item in outcome]

    def search(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        prefixes: Sequence[str | Sequence[int]] | None = None,
        weights: bool = False,
        batch_tokens: int | None = None,
        max_source_length: int | None = None,
    ) -> list[list[Translation]]:
        """Give the `n_best` outputs of each sentence, best first.

        Sentences of like length are searched together; a batch has at most `batch_tokens` source tokens, counted once
        for each hypothesis; by default what the device is quickest with. For `weights`, the outputs are forced through
        the model once more.
        `prefixes` are what the outputs of each sentence must begin with, text or its tokens, "" for any; the outputs of
        a sentence of nothing stay empty. `max_source_length` lets the model read fewer tokens than it could, `</s>`
        included.
        """
        check_texts("texts", texts)
        if max_source_length is not None and max_source_length < 2:
            raise ArgumentError(f"`max_source_length` must be at least 2; received {max_source_length}.")
        read = self.read(texts)
        source, cut = self._encode(read, max_source_length)
        search = search or Search()
        outcome = search_batches(
            self._searcher.model_for(search, prefixed=prefixes is not None),
            source,
            search,
            prefix=None if prefixes is None else self._begin(prefixes, len(texts), search),
            reach=self.reach,
            tokens=batch_tokens or self._searcher.batch_tokens,
            device=self.device,
        )
        return self._translations(texts, read, source, cut, outcome, weights=weights, begun=prefixes is not None)

    def search_tree(
        self, text: str, search: Search, *, pruned: int = 0, max_source_length: int | None = None
    ) -> tuple[list[Translation], BeamTree]:
        """Give the outputs of one sentence, which must have tokens, with the tree of their search: `beam_tree`."""
        source, cut = self._encode(read := self.read([text]), max_source_length)
        ids = torch.tensor([[*source[0].tolist(), END]], device=self.device)
        with torch.inference_mode():
            [(outputs, tree)] = decode_with_tree(
                self.predictor, ids, search=search, start=START, end=END, pruned=pruned
            )
        return self._translations([text], read, source, cut, [outputs], weights=False)[0], tree

    def _translations(
        self,
        texts: Sequence[str],
        read: Sequence[Respelled],
        source: Ragged,
        cut: Sequence[int],
        outcome: list[list[Hypothesis]],
        *,
        weights: bool,
        begun: bool = False,
    ) -> list[list[Translation]]:
        """Write the hypotheses of each sentence as text, `begun` by a prefix or not; with weights where wanted."""
        for index, outputs in enumerate(outcome):
            check_output((one.score for one in outputs), of=texts[index])
        if weights or self.replaces_unknown:
            needs_weights = (lambda one: True) if weights else (lambda one: UNKNOWN in one.tokens)
            outcome = add_weights(self.predictor, source, outcome, wanted=needs_weights, device=self.device)
        typed = [""] * len(texts) if begun else texts
        return [
            [
                self._describe(text, read[n], self._write(typed[n], read[n].text, one), one, source[n], cut[n], weights)
                for one in outcome[n]
            ]
            for n, text in enumerate(texts)
        ]

    def force(
        self, sources: Sequence[str], targets: Sequence[str], *, weights: bool = False, batch_tokens: int = 4096
    ) -> list[Translation]:
        """Force translations through the model: the probability of each token, and what it attends to."""
        check_texts("sources", sources)
        check_texts("targets", targets)
        if len(sources) != len(targets):
            raise ArgumentError(
                f"`targets` must have one entry for each of the {len(sources)} sources; received {len(targets)}."
            )
        read = self.read(sources)
        source, cut = self._encode(read)
        examples = Examples(source=source, target=self.tokenizers.target.encode_batch(targets))
        plan = make_index_batches(source.lengths + 1, examples.target.lengths + 1, tokens=batch_tokens, shuffle=False)
        outcome = dict(force_batches(self.predictor, examples, plan, weights=weights, device=self.device))
        return [
            self._describe(text, read[index], targets[index], outcome[index], source[index], cut[index], weights)
            for index, text in enumerate(sources)
        ]

    def align(
        self,
        pairs: Sequence[Pair | tuple[str, str]],
        *,
        reading: Reading | None = None,
        words: Division = "marks",
    ) -> list[Alignment]:
        """Link the words of sentence pairs by attention, the model forced to the target; see `tasks.alignment`."""
        from regard.tasks.alignment.align import align  # imports this module

        examples = [item if isinstance(item, Pair) else Pair(source=item[0], target=item[1]) for item in pairs]
        return align(self, examples, reading=reading, words=words)

    def inspect(self, text: str, *, target: str | None = None, search: Search | None = None) -> Inspection:
        """Record what every layer and head attends to for `target`, or for the best output of `search`."""
        from regard.tasks.inspected import inspect_translator  # imports this module

        return inspect_translator(self, text, target=target, search=search)

    def __repr__(self) -> str:
        kinds = " + ".join(_KINDS[type(item)] for item in self.models)
        source, target = self.tokenizers
        size = f"{self.num_parameters:,}"
        unit = "counts" if isinstance(self.model, StatisticalModel) else "parameters"
        tokens = f"{target.kind} tokens, {source.size:,} → {target.size:,}"
        return f"Translator({kinds}, {size} {unit}, {tokens}, on {self.device})"

    def _encode(self, texts: Sequence[Respelled], most: int | None = None) -> tuple[Ragged, list[int]]:
        """Give the tokens that are read of each text, and how many are not."""
        source = self.tokenizers.source.encode_batch([text.text for text in texts])
        most = min(self.reach.source, most or self.reach.source) - 1
        cut: list[int] = np.maximum(source.lengths - most, 0).tolist()
        if any(cut):
            source = Ragged.from_lists([source[index][:most].tolist() for index in range(len(source))])
        return source, cut

    def _begin(self, prefixes: Sequence[str | Sequence[int]], count: int, search: Search) -> Ragged:
        most = min((item for item in (search.max_length, self.reach.target) if item is not None), default=None)
        return encode_prefixes(prefixes, self.tokenizers.target, count=count, most=most)

    def _write(self, typed: str, read: str, result: Hypothesis) -> str:
        target = self.tokenizers.target
        text = target.decode(result.tokens)
        if self.replaces_unknown and result.weights is not None and UNKNOWN in result.tokens:
            text = replace_unknown(result.tokens, result.weights, read, self.tokenizers, self.dictionary, self.reading)
        return begin_as(typed, read, as_line(text), target)

    def _describe(
        self, source: str, read: Respelled, text: str, one: Hypothesis, ids: NDArray[np.int32], cut: int, weights: bool
    ) -> Translation:
        return Translation(
            source=source,
            read=read,
            text=text,
            hypothesis=one if weights or one.weights is None else replace(one, weights=None),
            source_ids=ids,
            tokenizers=self.tokenizers,
            reading=self.reading,
            cut=cut,
        )


def load(
    path: str | Path | Sequence[str | Path],
    *,
    device: torch.device | str = "cpu",
    unknown: Unknown = "replace",
    dictionary: Mapping[str, str] | None = None,
    max_source_length: int = MAX_SOURCE_LENGTH,
    respell: bool = True,
    precision: Precision = "float32",
    shortlist: bool = False,
) -> Translator:
    """Load the model in a model folder, or of the run in a run folder; the settings are those of `Translator`.

    `device` may be "auto", for a GPU where there is one. `precision` is that of the matrices: see `set_precision`.
    `shortlist` uses the one that the folder holds: see `use_shortlist`.
    Several folders, of models that share a vocabulary, give one translator that asks them all.
    """
    paths = [path] if isinstance(path, str | Path) else list(path)
    if not paths:
        raise ArgumentError("`path` must name at least one model folder; received an empty list.")
    folders = [open_model(item) for item in paths]
    for folder in folders:
        check_kind(folder, "translate")
    target_device = pick_device(device, argument="device")
    loaded = [read_parts(folder, target_device) for folder in folders]
    tokenizers = shared_tokenizers(folders, [item.tokenizers for item in loaded])
    untrained = Untrained.common([item.untrained for item in loaded])
    tied = all(shares_vectors(item.config.model) for item in loaded)
    translator = Translator(
        [item.model for item in loaded],
        (untrained.merge_sides() if tied else untrained).mark(tokenizers),
        loaded[0].config,
        unknown=unknown,
        dictionary=dictionary,
        max_source_length=max_source_length,
        respell=respell,
        untrained=untrained,
    )
    if shortlist:
        sizes = loaded[0].config.source_vocabulary, loaded[0].config.target_vocabulary
        translator.use_shortlist(Shortlist.load(folders[0], vocabularies=sizes))
    return translator.set_precision(precision)
