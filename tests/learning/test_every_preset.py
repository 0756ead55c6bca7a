"""Every preset learns: four to eight symbols in, the same symbols out, in their order or turned around."""

import pytest
import torch
from torch import Tensor

from catalogue.models import small
from regard.decoding import greedy
from regard.models import build_model
from regard.models.word_loss import word_loss
from regard.tasks.translation.presets import PRESETS, preset

SYMBOLS, FIRST, START, END = 10, 4, 2, 3
RECURRENT = {"embedding_size": 32, "hidden_size": 64}
TRANSFORMER = {
    "size": 64,
    "num_heads": 4,
    "feed_forward_size": 128,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
}

#: Steps of 64 examples, the learning rate, and the share of outputs that must be right in every symbol.
#: States are within -1 and 1: divided by √d, their products are flat at first, and it takes longer to learn.
ATTENTION, SCALED, WITHOUT, BLOCKS = (130, 1e-2, 0.9), (200, 1.5e-2, 0.9), (300, 1e-2, 0.75), (160, 3e-3, 0.85)


def lesson(count: int, generator: torch.Generator, *, turned: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sources with `</s>`, their lengths, target inputs with `<s>`, and target outputs with `</s>`."""
    lengths = torch.randint(4, 9, (count, 1), generator=generator)
    places = torch.arange(9).expand(count, 9)
    source = torch.randint(FIRST, FIRST + SYMBOLS, (count, 9), generator=generator)
    source = source.masked_fill(places > lengths, 0).masked_fill(places == lengths, END)
    order = torch.where(places < lengths, lengths - 1 - places, places) if turned else places
    target = source.gather(1, order)
    opened = torch.cat([torch.full((count, 1), START), target[:, :-1].masked_fill(target[:, :-1] == END, 0)], dim=1)
    return source, lengths[:, 0] + 1, opened, target


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize("name", PRESETS)
def test_it_learns(name: str) -> None:
    block = name.startswith("transformer")
    special = {"fixed": WITHOUT, "luong-scaled-dot": SCALED}
    steps, rate, wanted = BLOCKS if block else special.get(name, ATTENTION)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    spec = small(preset(name), **(TRANSFORMER if block else RECURRENT))
    model = build_model(spec, source_vocabulary=FIRST + SYMBOLS, target_vocabulary=FIRST + SYMBOLS)
    turned = name in ("fixed", "bahdanau", "dot")
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / 20, (1 - step / steps) ** 0.5)
        source, lengths, opened, target = lesson(64, generator, turned=turned)
        loss = word_loss(model.read(source, lengths, opened).features, model.output, target).total
        (loss / lengths.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    source, lengths, _, target = lesson(200, generator, turned=turned)
    outputs = greedy(model.eval(), source, lengths, start=START, end=END)
    right = [list(one.tokens) == row[row != 0].tolist() for one, row in zip(outputs, target, strict=True)]
    assert sum(right) / 200 >= wanted
