import pytest
import torch
from torch import nn

from regard.config.model import RecurrentSpec
from regard.models import build_model
from regard.models.initialize import recurrent_blocks
from regard.tasks.translation.presets import preset


def blocks_of(model: nn.Module) -> list[torch.Tensor]:
    return [block for module in model.modules() for block in recurrent_blocks(module)]


@pytest.mark.parametrize("initialize", ["glorot", "bahdanau"])
@pytest.mark.parametrize(("cell", "gates"), [("gru", 3), ("lstm", 4), ("rnn", 1)])
def test_recurrent_matrices_start_orthogonal(initialize: str, cell: str, gates: int) -> None:
    spec = RecurrentSpec(cell=cell, embedding_size=6, hidden_size=8, initialize=initialize)
    blocks = blocks_of(build_model(spec, source_vocabulary=9, target_vocabulary=9))
    assert len(blocks) == 3 * gates  # two directions of the encoder, and the decoder
    for block in blocks:
        torch.testing.assert_close(block @ block.mT, torch.eye(8))


def test_bahdanaus_appendix() -> None:
    spec = RecurrentSpec(embedding_size=60, hidden_size=80, initialize="bahdanau")
    model = build_model(spec, source_vocabulary=90, target_vocabulary=90)
    attention = model.decoder.attention
    assert (attention.vector == 0).all()
    assert attention.query.weight.std().item() == pytest.approx(0.001, rel=0.1)
    assert attention.key.weight.std().item() == pytest.approx(0.001, rel=0.1)
    for matrix in (model.output.weight, model.source.table.weight, model.decoder.cell.input.weight):
        assert matrix.std().item() == pytest.approx(0.01, rel=0.1)
    assert all((one == 0).all() for name, one in model.named_parameters() if "bias" in name)


def test_luongs_uniform() -> None:
    model = build_model(preset("luong-local-p", tokens=10**9), source_vocabulary=9, target_vocabulary=9)
    for parameter in model.parameters():
        assert parameter.abs().max() <= 0.1
        if parameter.numel() > 1000:
            assert parameter.std().item() == pytest.approx(0.2 / 12**0.5, rel=0.1)


def test_an_lstm_remembers_at_first() -> None:
    for spec in (preset("luong-dot"), RecurrentSpec(cell="lstm", hidden_size=256)):
        model = build_model(spec, source_vocabulary=9, target_vocabulary=9)
        assert (model.encoder.recurrence.bias_ih_l0[256:512] == 1).all()
        assert (model.encoder.recurrence.bias_ih_l0[:256] == 0).all()
        bias = model.decoder.cell.cells[0].bias_ih if spec.input_feeding else model.decoder.cell.input.bias
        assert (bias[256:512] == 1).all()
        assert (bias[512:] == 0).all()


def test_the_seed_decides() -> None:
    for name in ("bahdanau", "transformer-tiny"):
        models = []
        for _ in range(2):
            torch.manual_seed(3)
            models.append(build_model(preset(name), source_vocabulary=9, target_vocabulary=9))
        for first, second in zip(*(model.parameters() for model in models), strict=True):
            assert torch.equal(first, second)


def test_logits_start_small_whatever_the_model() -> None:
    tokens = torch.arange(8).view(2, 4)
    for name in ("fixed", "dot", "bahdanau", "luong-general", "gaussian", "transformer-tiny", "transformer-base"):
        model = build_model(preset(name), source_vocabulary=9, target_vocabulary=500).eval()
        assert model(tokens, None, tokens).std() < 1.5
