"""The model as each search is quickest with it: captured steps on a GPU, a shortlist of output words on a CPU."""

from collections.abc import Sequence

import torch

from regard.decoding.captured import Captured
from regard.decoding.ensemble import Ensemble
from regard.decoding.search import Search
from regard.decoding.shortlist import Shortlist, Shortlisted
from regard.errors import ArgumentError
from regard.models.sequence.build import TranslationModel
from regard.models.sequence.protocol import AnyModel
from regard.tasks.translation.search_batches import Reach

BATCH_TOKENS = {"cpu": 2048, "cuda": 65536}
"""Source tokens searched at once, counted for each hypothesis: on a CPU as many as its caches hold."""


class Searcher:
    """One model, or several as one, ready for `search_batches`.

    It keeps what was captured from batch to batch: make another when the models are moved. Without `captures`, a GPU
    searches step by step.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        reach: Reach,
        shortlist: Shortlist | None,
        device: torch.device,
        *,
        captures: bool = True,
    ) -> None:
        if shortlist is not None and len(models) > 1:
            raise ArgumentError(f"`shortlist` must go with one model; received {len(models)} models.")
        self.predictor: AnyModel = models[0] if len(models) == 1 else Ensemble(models)
        """The model itself, or all of them."""
        self.captured = Captured(self.predictor, longest_source=reach.source)
        self.shortlisted = None if shortlist is None else Shortlisted(self.predictor, shortlist)
        self.device, self.captures = device, captures

    @property
    def batch_tokens(self) -> int:
        """How many tokens a batch is quickest with."""
        return BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])

    def model_for(self, search: Search, *, prefixed: bool) -> AnyModel:
        """Give the model for one search; rules that name tokens need the whole vocabulary."""
        if self.device.type == "cuda" and self.captures:
            return self.captured
        if self.shortlisted is None or prefixed or search.no_repeat_ngram:
            return self.predictor
        return self.shortlisted
