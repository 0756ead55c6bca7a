"""Going on with a text: there is always something to say, and nothing that must not be said."""

import numpy as np
import pytest

from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.decoding.search import Sampling
from regard.models.language.bag import BagModel
from regard.tasks.language.continuation import continue_tokens

BYTES = TextTokenizer("byte")
COUNTS = np.bincount([END, *BYTES.encode("to be or not")], minlength=BYTES.size).astype(np.int64)


@pytest.mark.parametrize("inside", [1, 2])
@pytest.mark.parametrize(
    "how", [{"greedy": True}, *({"sampling": Sampling(**one)} for one in ({}, {"top_k": 3}, {"top_p": 0.5}))]
)
def test_a_prompt_may_end_inside_a_character_that_the_model_cannot_end(how, inside):
    prompt = [END, *BYTES.encode("日")[:inside]]
    tokenizer = BYTES.with_counts(COUNTS)
    said = list(continue_tokens(BagModel(COUNTS, smoothing=0.1), tokenizer, prompt, count=20, **how))
    assert set(said) <= set(COUNTS.nonzero()[0])
    if how.get("greedy"):
        assert said == [int(COUNTS.argmax())] * 20


def test_what_the_model_gave_is_left_as_it_was(monkeypatch):
    model, given = BagModel(COUNTS, smoothing=0.1), []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *one, **more: given.append(step(*one, **more)) or given[-1])
    list(continue_tokens(model, BYTES.with_counts(COUNTS), [END], count=2))
    assert all(one.log_probabilities.isfinite().all() for one in given)
