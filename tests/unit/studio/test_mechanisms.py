"""The view Mechanisms: what the page shows is what the operator gives, for every mechanism there is."""

import pytest
import torch

import regard
from regard import attention
from regard.attention import Mask, Normalizer, Position, Score
from regard.layers import SinusoidalPositions
from regard.studio.models import Models
from regard.studio.schema.mechanism_choices import Masking, Normalizing, Positioning, Scoring
from unit.studio.visiting import ask, refused, visitor

TABLES = {
    "query": [[1.0, 0.5], [-0.25, 2.0], [0.0, -1.0]],
    "key": [[0.5, 1.0], [2.0, -1.0], [0.0, 0.25], [1.0, 1.0]],
    "value": [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [3.0, 0.5, 0.0], [-2.0, 1.0, 1.0]],
}
SCORES = [
    {"kind": "Dot"},
    {"kind": "ScaledDot"},
    {"kind": "ScaledDot", "scale": 3.0},
    {"kind": "Bilinear", "matrix": [[1.0, 0.5], [0.0, 2.0]]},
    {"kind": "Additive", "vector": [1.0, -2.0]},
    {"kind": "Additive", "vector": [1.0, -2.0], "activation": "identity"},
    {"kind": "Concat", "matrix": [[1.0, 0, 0, 1.0], [0, 1.0, 1.0, 0], [0.5, 0, 0, 0]], "vector": [1.0, 2.0, 3.0]},
    {"kind": "Gaussian", "bandwidth": 0.7},
    {"kind": "Cosine", "temperature": 0.2},
    {"kind": "Location", "matrix": [[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 0.0, -1.0]]},
]
NORMALIZERS = [
    {"kind": "Softmax"},
    {"kind": "Sparsemax"},
    {"kind": "Entmax", "alpha": 1.3},
    {"kind": "Sigmoid", "bias": -0.5},
    {"kind": "Sink", "score": 0.5},
    {"kind": "Hard"},
    {"kind": "Mean"},
]
MASKS = [
    {"kind": "Causal"},
    {"kind": "Window", "left": 1, "right": 0},
    {"kind": "Window", "left": 0, "right": None},
    {"kind": "Padding", "lengths": 2},
    {"kind": "Documents", "ids": [0, 0, 1], "key_ids": [0, 0, 1, 1]},
]
POSITIONS = [
    {"kind": "Rotary", "base": 100.0},
    {"kind": "Alibi", "slopes": 0.5},
    {"kind": "RelativeBias", "table": [-1.0, 0.0, 1.0]},
    {"kind": "Shaw", "keys": [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], "values": [[1.0, 0, 0], [0.0, 0, 0], [0, 0, 1.0]]},
    {"kind": "GaussianWindow", "center": [0.0, 1.5, 3.0], "half_width": 1.5},
    {"kind": "RelativeBuckets", "table": [0.0, 1.0, -1.0, 0.5], "max_distance": 8},
]
CASES = [
    *[{"score": one} for one in SCORES],
    *[{"normalizer": one} for one in NORMALIZERS],
    *[{"mask": one} for one in MASKS],
    *[{"position": one} for one in POSITIONS],
    {"score": SCORES[4], "normalizer": NORMALIZERS[2], "mask": MASKS[1], "position": POSITIONS[1]},
]


@pytest.fixture(scope="module")
def client():
    return visitor(Models())


def made(choice):
    """Make the operator's object by hand."""
    settings = {
        key: torch.tensor(value)
        if isinstance(value, list) or key in ("lengths", "slopes") or (choice["kind"], key) == ("Sink", "score")
        else value
        for key, value in choice.items()
        if key != "kind"
    }
    return getattr(regard, choice["kind"])(**settings)


def body(**choices):
    return TABLES | {"score": {"kind": "Dot"}, "normalizer": {"kind": "Softmax"}} | choices


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(one["kind"] for one in case.values()))
def test_the_operator_computes(client, case):
    told = ask(client, "mechanisms/attend", **body(**case))
    asked = {"score": {"kind": "Dot"}} | case
    chosen = {"normalize" if name == "normalizer" else name: made(one) for name, one in asked.items()}
    query, key, value = (torch.tensor(table) for table in TABLES.values())
    found = attention(query, key, value, **chosen, return_weights=True)
    assert told["weights"] == found.weights.tolist()
    assert told["context"] == found.context.tolist()
    names: dict[str, torch.Tensor] = {}
    exec(told["code"], names)
    assert torch.equal(names["weights"], found.weights)
    assert torch.equal(names["context"], found.context)


@pytest.mark.parametrize("case", CASES[: len(SCORES)], ids=lambda case: case["score"]["kind"])
def test_scores_are_told_before_masking(client, case):
    told = ask(client, "mechanisms/attend", **body(**case, mask={"kind": "Causal"}))
    query, key = torch.tensor(TABLES["query"]), torch.tensor(TABLES["key"])
    torch.testing.assert_close(torch.tensor(told["scores"]), made(case["score"]).dense(query, key))
    assert told["mask"] == regard.Causal().dense((3, 4)).tolist()
    assert told["score"][0]["kind"] == case["score"]["kind"]


def test_a_position_tells_what_it_does(client):
    turned = ask(client, "mechanisms/attend", **body(position=POSITIONS[0]))
    expected = regard.Rotary(100.0).rotate(torch.tensor(TABLES["query"]), torch.tensor(TABLES["key"]), (3, 4))
    assert turned["turned"]
    assert (turned["query"], turned["key"]) == (expected[0].tolist(), expected[1].tolist())
    added = ask(client, "mechanisms/attend", **body(position=POSITIONS[1]))
    assert added["added"][2] == [-1.5, -1.0, -0.5, 0.0]
    assert (added["turned"], added["factors"], added["extra"]) == (False, None, None)
    shaw = ask(client, "mechanisms/attend", **body(position=POSITIONS[3]))
    assert shaw["extra"] is not None
    window = ask(client, "mechanisms/attend", **body(position=POSITIONS[4]))
    assert window["factors"][0][0] == 1.0


def test_every_mechanism_of_the_operator_is_offered():
    kinds = {"score": Scoring, "normalizer": Normalizing, "mask": Masking, "position": Positioning}
    offered = {
        kind
        for union in kinds.values()
        for one in union.__args__
        for kind in one.model_fields["kind"].annotation.__args__
    }
    there = {name: getattr(regard, name) for name in regard.__all__}
    bases = (Score, Normalizer, Mask, Position)
    known = {name for name, one in there.items() if isinstance(one, type) and issubclass(one, bases)}
    made_of_others = {"Not", "ScoreMod", "ScoreRows", "Softcap"}  # of masks, scores and functions, which no form has
    assert known - offered == made_of_others
    tried = {one["kind"] for case in CASES for one in case.values()}
    assert offered == tried


def test_waves_are_those_of_the_layer(client):
    told = ask(client, "mechanisms/waves", length=5, size=6, base=100)
    assert told["table"] == SinusoidalPositions(6, base=100.0).table(5).tolist()
    assert refused(client, "mechanisms/waves", size=5).startswith("`size` must be even and positive")
    assert refused(client, "mechanisms/waves", length=1000) == "length: at most 128."
    assert refused(client, "mechanisms/waves", base=1) == "`base` must be above 1; received 1.0."


def test_words_are_looked_up(client):
    keys, values = ["Anna", "Bruno", "Clara"], ["lecturer", "student", "assistant"]
    told = ask(client, "mechanisms/lookup", query="Klara", keys=keys, values=values, temperature=0.1)
    found = regard.lookup("Klara", keys, values, exact=False, score=regard.Cosine(0.1))
    assert (told["value"], told["weights"], told["exact"], told["mixes"]) == (
        "assistant",
        found.weights.tolist(),
        None,
        False,
    )
    names: dict[str, object] = {}
    exec(told["code"], names)
    assert names["value"] == "assistant"
    ages = ask(client, "mechanisms/lookup", query="Anna", keys=keys, values=["52", "21", "27"], temperature=0.1)
    mixed = torch.tensor(ages["weights"]) @ torch.tensor([52.0, 21.0, 27.0])
    assert ages["value"] == pytest.approx(float(mixed), rel=1e-5)
    assert ages["exact"] == 52.0


def test_numbers_are_looked_up_by_nearness(client):
    told = ask(client, "mechanisms/lookup", query="1.5", keys=["0", "1", "2"], values=["0", "1", "4"], temperature=0.5)
    found = regard.lookup(
        torch.tensor([1.5]),
        torch.tensor([[0.0], [1.0], [2.0]]),
        torch.tensor([0.0, 1.0, 4.0]),
        exact=False,
        score=regard.Gaussian(0.5),
    )
    assert (told["by"], told["value"]) == ("Gaussian", float(found.value))
    names: dict[str, torch.Tensor] = {}
    exec(told["code"], names)
    assert float(names["value"]) == told["value"]
    hard = ask(
        client, "mechanisms/lookup", query="1.4", keys=["0", "1", "2"], values=["0", "1", "4"], temperature=0.001
    )
    assert hard["weights"] == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key": [[1.0, 2.0], [1.0]]}, "its rows must be equally long; received lengths [1, 2]"),
        ({"query": [[1.0, 2.0, 3.0]]}, "`query` and `key` must have the same width for Dot; received 3 and 2."),
        ({"value": [[1.0]]}, "`key` and `value` must have the same length"),
        ({"query": [[float("1e9"), 0.0]]}, "q1, feature 1: at most 1,000,000."),
        ({"score": {"kind": "Bilinear", "matrix": [[1.0]]}}, "`matrix` must have shape (query width, key width)"),
        ({"score": {"kind": "Gaussian", "bandwidth": 0}}, "score Gaussian bandwidth: at least 0.001."),
        ({"score": {"kind": "Nothing"}}, "score: Input tag 'Nothing' found"),
        ({"normalizer": {"kind": "Entmax", "alpha": 3}}, "`alpha` of Entmax must be in (1, 2]; received 3.0."),
        ({"mask": {"kind": "Window", "left": -1, "right": 0}}, "`left` of Window must be zero or more; received -1."),
        ({"mask": {"kind": "Documents", "ids": [0]}}, "`ids` of Documents must name 3 positions"),
        ({"position": {"kind": "Shaw", "keys": [[1.0, 0.0]] * 2}}, "`keys` of Shaw must have shape"),
        ({"position": {"kind": "RelativeBias", "table": [1.0, 2.0]}}, "`table` of RelativeBias must have shape"),
        (
            {"query": [[1.0]], "key": [[1.0]] * 4, "position": {"kind": "Rotary"}},
            "must have an even number of features",
        ),
        ({"score": {"kind": "Gaussian"}, "position": POSITIONS[3]}, "`score` must be linear in the key for Shaw"),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(client, changed, message):
    assert message in refused(client, "mechanisms/attend", **body(**changed))


def test_dictionaries_that_do_not_fit_are_told(client):
    uneven = refused(client, "mechanisms/lookup", query="a", keys=["a", "b"], values=["c"], temperature=1)
    assert uneven == "`values` must have one entry per key, 2; received 1."
    assert "temperature: at least 0.001." in refused(
        client, "mechanisms/lookup", query="a", keys=["a"], values=["b"], temperature=0
    )
