"""Going on with a text: one token after the other, drawn at random or the likeliest."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from regard.data.text.open_character import OpenCharacter
from regard.data.text.text_tokenizer import TextTokenizer
from regard.decoding.rules import forbid_repeats
from regard.decoding.sampling import draw, uniform_numbers
from regard.decoding.search import Sampling
from regard.models.language.folder import AnyLanguageModel
from regard.models.language.network import LanguageNetwork
from regard.tasks.finite_output import check_output

_NAMED = 20
"""Tokens that an error names."""


@torch.no_grad()
def continue_tokens(
    model: AnyLanguageModel,
    tokenizer: TextTokenizer,
    prompt: Sequence[int],
    *,
    count: int,
    sampling: Sampling | None = None,
    seed: int = 0,
    greedy: bool = False,
    no_repeat_ngram: int = 0,
) -> Iterator[int]:
    """Give `count` tokens that follow the prompt, as they are generated.

    They are drawn as `sampling` says, or with `seed` from all words; the same prompt and seed give the same text. What
    may be generated is what `OpenCharacter.next_producible` allows.
    """
    sampling = sampling or Sampling(seed=seed)
    numbers = uniform_numbers([prompt], [count], count=1, seed=sampling.seed)
    state = model.start(1, capacity=len(prompt) + count)
    output, character = list(prompt), OpenCharacter(tokenizer, prompt)
    tokens = torch.tensor([output])
    for index in range(count):
        step = model.step(tokens.to(device_of(model)), state)
        state = step.state
        if step.log_probabilities[:, -1].detach().isnan().any():
            check_output([math.nan], of=tokenizer.decode(output[-_NAMED:]))
        likely = (
            step.log_probabilities[:, -1].cpu().masked_fill(~torch.from_numpy(character.next_producible()), -torch.inf)
        )
        if no_repeat_ngram:
            likely = _or_any(forbid_repeats(likely, torch.tensor([output]), no_repeat_ngram), likely)
        token = int(likely.argmax()) if greedy else int(draw(likely[None], numbers[:, :, index], sampling).token)
        output.append(token)
        character.read(token)
        tokens = torch.tensor([[token]])
        yield token


def device_of(model: AnyLanguageModel) -> torch.device:
    """Return the device of a model; counts are with the CPU."""
    return model.output.weight.device if isinstance(model, LanguageNetwork) else torch.device("cpu")


def _or_any(allowed: Tensor, likely: Tensor) -> Tensor:
    return allowed if bool((allowed > -torch.inf).any()) else likely
