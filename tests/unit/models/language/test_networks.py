"""Language networks: one pass and many steps say the same, and a state carries all that came before."""

import pytest
import torch

from regard.config.language import RecurrentLanguageSpec, TransformerLanguageSpec
from regard.errors import ArgumentError
from regard.models.dropout import Dropout
from regard.models.embedding import TokenEmbedding
from regard.models.language.build import build_network
from regard.models.language.network import History, LanguageNetwork, NextWordModel
from regard.models.language.recurrent import RecurrentLanguageModel, RecurrentStack
from unit.models.language.networks import BLOCKS, SPECS

VOCABULARY = 11
CARRYING = [name for name in SPECS if not name.startswith("transformer")]


def network(name: str) -> LanguageNetwork:
    return build_network(SPECS[name], vocabulary_size=VOCABULARY).eval()


@pytest.fixture
def tokens() -> torch.Tensor:
    return torch.randint(4, VOCABULARY, (3, 14))


@pytest.mark.parametrize("name", SPECS)
def test_a_training_pass_says_what_steps_say(name, tokens):
    model = network(name)
    assert isinstance(model, NextWordModel)
    whole = model.output(model(tokens).features).log_softmax(-1)
    state, said, place = model.start(3), [], 0
    for new in (1, 5, 1, 7):
        step = model.step(tokens[:, place : place + new], state, weights=True)
        state, place = step.state, place + new
        said.append(step.log_probabilities)
    torch.testing.assert_close(torch.cat(said, dim=1), whole)
    torch.testing.assert_close(whole.exp().sum(-1), torch.ones(3, 14))


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_known_of_what_comes_later(name, tokens):
    model = network(name)
    other = tokens.clone()
    other[:, 9:] = 4 + (other[:, 9:] - 3) % 7
    torch.testing.assert_close(model(tokens).features[:, :9], model(other).features[:, :9])


def drawn(model: LanguageNetwork, tokens: torch.Tensor) -> dict[str, list[torch.Tensor]]:
    """What each dropout of features multiplied by in one pass of training: rows, places, features."""
    found: dict[str, list[torch.Tensor]] = {}
    places = {}
    for name, module in model.named_modules():
        if isinstance(module, Dropout) and module.p and not name.endswith("connections"):

            def keep(module, given, result, name=name):
                found.setdefault(name, []).append((result / given[0]).round(decimals=4))

            places[name] = module.register_forward_hook(keep)
    model.train()(tokens)
    for one in places.values():
        one.remove()
    return found


@pytest.mark.parametrize("span", [0, 5])
def test_recurrent_dropout_holds_all_along_a_stretch(span, tokens):
    torch.manual_seed(1)
    shares = {"dropout": 0.5, "input_dropout": 0.25, "layer_dropout": 0.75}
    spec = RecurrentLanguageSpec(embedding_size=64, hidden_size=48, attention_span=span, weight_dropout=0.3, **shares)
    model = build_network(spec, vocabulary_size=VOCABULARY)
    parts = {"dropout": model.dropout, "embedding.dropout": model.embedding.dropout}
    parts["stack.between"] = model.stack.between
    assert [part.p for part in parts.values()] == [0.5, 0.25, 0.75]
    assert all(part.shared for part in parts.values())
    masks, again = drawn(model, tokens), drawn(model, tokens)
    assert masks.keys() == parts.keys()
    for name, (mask,) in masks.items():
        assert mask.unique().tolist() == pytest.approx([0.0, 1 / (1 - parts[name].p)], abs=1e-3)
        assert torch.equal(mask, mask[:, :1].expand_as(mask))  # the same at every place,
        assert not torch.equal(mask[0], mask[1])  # another in every row,
        assert not torch.equal(mask, again[name][0])  # and in the next stretch


def test_the_transformer_drops_place_by_place(tokens):
    torch.manual_seed(1)
    model = build_network(TransformerLanguageSpec(**BLOCKS, dropout=0.5), vocabulary_size=VOCABULARY)
    masks = drawn(model, tokens)
    assert len(masks) == 1 + 2 * BLOCKS["num_layers"]
    assert all(not torch.equal(mask[:, 0], mask[:, 1]) for several in masks.values() for mask in several)


@pytest.mark.parametrize("name", CARRYING)
def test_a_carried_state_makes_one_long_pass(name, tokens):
    model = network(name)
    first = model(tokens[:, :6])
    rest = model(tokens[:, 6:], first.state.detach())
    torch.testing.assert_close(torch.cat([first.features, rest.features], dim=1), model(tokens).features)


@pytest.mark.parametrize("name", CARRYING)
def test_states_are_taken_apart_and_joined(name, tokens):
    model = network(name)
    state = model(tokens[:, :6]).state
    parts = [state.select(torch.tensor([row])) for row in range(3)]
    joined = type(state).join(parts)
    assert (state.rows, joined.rows) == (3, 3)
    torch.testing.assert_close(model(tokens, joined).features, model(tokens, state).features)
    turned = state.select(torch.tensor([2, 0, 1]))
    rows = torch.tensor([2, 0, 1])
    torch.testing.assert_close(model(tokens[rows], turned).features, model(tokens, state).features[rows])


@pytest.mark.parametrize("name", SPECS)
def test_generating_re_orders_rows(name, tokens):
    model = network(name)
    rows = torch.tensor([1, 1, 0])
    state = model.step(tokens[:, :6], model.start(3)).state
    found = model.step(tokens[rows, 6:7], state.select(rows)).log_probabilities
    torch.testing.assert_close(found, model.step(tokens[:, 6:7], state).log_probabilities[rows])


def test_the_gradient_stops_at_the_state(tokens):
    model = network("lstm")
    first = model(tokens[:, :6])
    assert first.state.states[0].requires_grad
    assert not first.state.detach().states[0].requires_grad


def test_tied_matrices_are_one():
    model = network("lstm")
    assert model.output.weight is model.embedding.table.weight
    with pytest.raises(
        ArgumentError, match=r"`tie` must be false where the features, 6 wide, .* received true with an embedding of 4"
    ):
        RecurrentLanguageModel(TokenEmbedding(10, 4), RecurrentStack("gru", (4, 6)), tie=True)


def test_dropout_between_layers_is_the_same_all_along():
    stack = RecurrentStack("rnn", (4, 50, 4), dropout=0.5).train()
    dropped = stack.between(torch.ones(2, 7, 50))
    assert torch.equal(dropped[:, 0], dropped[:, 6])
    assert not torch.equal(dropped[0], dropped[1])


def test_connections_are_dropped_in_training_alone(tokens):
    model = network("lstm")
    assert torch.equal(model(tokens).features, model(tokens).features)
    model.stack.train()
    assert not torch.equal(model(tokens).features, model(tokens).features)


def test_attention_looks_at_the_past_alone(tokens):
    model = network("gru-attention")
    weights = model.step(tokens, model.start(3), weights=True).weights
    assert weights.shape == (3, 1, 2, 14, 19)
    span, places = 5, torch.arange(19)
    for place in range(14):
        seen = (places >= max(span, place)) & (places < span + place)  # the state's own places come first
        assert weights[..., place, :][..., ~seen].abs().max() == 0
        total = weights[..., place, :].sum(-1)
        torch.testing.assert_close(total, torch.full_like(total, float(place > 0)))


def test_a_full_window_goes_on_from_its_half(tokens):
    model = network("transformer")
    long = torch.cat([tokens, tokens], dim=1)[:1]  # 28 tokens, context 16
    found = model.step(long, model.start(1), weights=True)
    assert found.log_probabilities.shape == (1, 28, VOCABULARY)
    assert found.weights.shape == (1, 2, 2, 28, 16)
    # After 16 tokens the last 8 are read anew; the next 8 fill the window; then 8 again.
    fresh = model.output(model(long[:, 8:24]).features).log_softmax(-1)
    torch.testing.assert_close(found.log_probabilities[:, 16:24], fresh[:, 8:])
    with pytest.raises(ArgumentError, match="`tokens` must be at most the context, 16 in a row; received 28"):
        model(long)


def test_a_history_forgets_what_is_too_old():
    state = History.empty(1, 2).after(torch.tensor([[4]]))
    assert state.tokens.tolist() == [[-1, 4]]
    assert state.after(torch.tensor([[5, 6, 7]])).tokens.tolist() == [[6, 7]]


def test_errors():
    with pytest.raises(ArgumentError, match=r"`sizes` must name the width of the input and of each layer"):
        RecurrentStack("gru", (4,))
    with pytest.raises(ArgumentError, match="`context` must be at least 2; received 1"):
        type(network("transformer"))(TokenEmbedding(10, 4), [], context=1)
