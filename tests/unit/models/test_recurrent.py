import torch

from regard.config.model import RecurrentSpec
from regard.models import GeneratingModel, build_model
from regard.tasks.translation.presets import preset

LENGTHS = torch.tensor([5, 2, 4])


def test_a_reversed_source_is_read_from_its_end_and_keeps_its_places() -> None:
    torch.manual_seed(1)
    spec = RecurrentSpec(direction="backward", embedding_size=4, hidden_size=6)
    backward = build_model(spec, source_vocabulary=9, target_vocabulary=9).double()
    source, target = torch.randint(0, 9, (3, 5)), torch.randint(0, 9, (3, 4))
    found = backward(source, LENGTHS, target, weights=True)
    backward.reverse = False  # the same parameters, forward
    for row, length in enumerate(LENGTHS.tolist()):
        turned = source[row, :length].flip(0)[None]
        expected = backward(turned, None, target[row : row + 1], weights=True)
        torch.testing.assert_close(found.logits[row : row + 1], expected.logits)
        torch.testing.assert_close(found.weights[row : row + 1, ..., :length], expected.weights.flip(-1))
    backward.reverse = True
    whole = backward(source, None, target)
    torch.testing.assert_close(whole[:1], found.logits[:1])


def test_dropout_reaches_memory_and_output() -> None:
    spec = RecurrentSpec(embedding_size=4, hidden_size=32, dropout=0.5)
    model = build_model(spec, source_vocabulary=9, target_vocabulary=9)
    tokens = torch.randint(0, 9, (3, 5))
    assert (model.encode(tokens).source.value == 0).float().mean() > 0.3
    assert (model.read(tokens, None, tokens).features == 0).float().mean() > 0.3


def test_it_is_what_search_wants() -> None:
    for name in ("bahdanau", "transformer-tiny"):
        assert isinstance(build_model(preset(name), source_vocabulary=5, target_vocabulary=5), GeneratingModel)
