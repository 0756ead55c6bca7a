"""A model around nn.Transformer, read into ours, gives the same logits."""

import math

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from regard.errors import DataError
from regard.layers.position.sinusoidal import sinusoids
from regard.models.folder import load_model, save_model
from regard.pretrained.torch_transformer import TorchNames, read_torch_transformer

SIZE = 16


class Theirs(nn.Module):
    """The usual model: embeddings times √size plus sinusoids, nn.Transformer, a linear layer."""

    def __init__(self, *, scaled: bool = True, tied: bool = False, **settings) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(11, SIZE), nn.Embedding(13, SIZE)
        self.transformer = nn.Transformer(SIZE, 2, 2, 1, 24, dropout=0.0, batch_first=True, **settings)
        self.output = nn.Linear(SIZE, 13)
        if tied:
            self.output.weight = self.target.weight
        self.factor = math.sqrt(SIZE) if scaled else 1.0

    def embed(self, table, tokens):
        return table(tokens) * self.factor + sinusoids(torch.arange(tokens.size(1)), SIZE, dtype=torch.float32)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        states = self.transformer(self.embed(self.source, source), self.embed(self.target, target), tgt_mask=mask)
        return self.output(states)


def theirs(**settings):
    torch.manual_seed(3)
    return Theirs(**settings).eval()


SOURCE, TARGET = torch.tensor([[4, 5, 6, 3], [7, 8, 9, 3]]), torch.tensor([[2, 7, 8], [2, 12, 5]])
LENGTHS = torch.tensor([4, 4])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({}, {}),
        ({"norm_first": True}, {"norm": "pre"}),
        ({"activation": "gelu"}, {"activation": "gelu"}),
        ({"scaled": False}, {"scaled": False}),
        ({"bias": False}, {}),
        ({"tied": True}, {"names": TorchNames(output="target.weight")}),
        ({"tied": True, "scaled": False}, {"names": TorchNames(output="target.weight"), "scaled": False}),
    ],
)
def test_logits_agree(settings, asked, tmp_path):
    model = theirs(**settings)
    ours, config = read_torch_transformer(model.state_dict(), num_heads=2, **asked)
    with torch.no_grad():
        expected = model(SOURCE, TARGET)
        assert torch.allclose(ours(SOURCE, LENGTHS, TARGET), expected, atol=1e-5)
    save_model(ours, config.model, tmp_path, source_vocabulary=11, target_vocabulary=13)
    with torch.no_grad():
        assert torch.allclose(load_model(tmp_path).model(SOURCE, LENGTHS, TARGET), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_file_of_tensors(tmp_path):
    model = theirs()
    path = tmp_path / "model.safetensors"
    save_file(model.state_dict(), path)
    ours, _ = read_torch_transformer(path, num_heads=2)
    with torch.no_grad():
        assert torch.allclose(ours(SOURCE, LENGTHS, TARGET), model(SOURCE, TARGET), atol=1e-5)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_what_is_not_there_or_does_not_fit():
    state = theirs().state_dict()
    with pytest.raises(DataError, match=r"`state` must hold embedding; received output\.bias, .* and \d+ more\. Say"):
        read_torch_transformer(state, num_heads=2, names=TorchNames(source="embedding"))
    state["transformer.encoder.layers.1.linear1.weight"] = torch.zeros(3, SIZE)
    with pytest.raises(
        DataError,
        match=r"encoder\.1\.feed_forward\.expand\.weight of ours has the shape \(24, 16\); received \(3, 16\)",
    ):
        read_torch_transformer(state, num_heads=2)
    state = {name: tensor for name, tensor in theirs().state_dict().items() if "decoder.layers.0.norm3" not in name}
    with pytest.raises(DataError, match=r"`state` must hold transformer\.decoder\.layers\.0\.norm3\.weight"):
        read_torch_transformer(state, num_heads=2)
