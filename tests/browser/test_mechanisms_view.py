"""The view Mechanisms, as a person uses it. Every number shown is the operator's."""

import re
from urllib.parse import urlencode

import pytest
import torch

import regard
from browser.browsing import check_accessible, number
from regard import Additive, Alibi, Causal, Cosine, Dot, Entmax, Gaussian, attention, lookup
from regard.layers import SinusoidalPositions

EYE = torch.eye(3)
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def address(**state):
    return f"mechanisms?{urlencode(state)}"


def grid(page, name):
    """The numbers in the cells of a matrix."""
    rows = page.locator(f'[data-grid="{name}"] tbody tr').all()
    return [row.locator("td").all_inner_texts() for row in rows]


def written(tensor, mask=None, digits=3):
    allowed = torch.ones_like(tensor, dtype=torch.bool) if mask is None else mask
    return [
        [number(value, digits) if open_ else "masked" for value, open_ in zip(row, allows, strict=True)]
        for row, allows in zip(tensor.tolist(), allowed.tolist(), strict=True)
    ]


def wait_for(page, name, expected):
    page.wait_for_function(
        """([name, expected]) => JSON.stringify([...document.querySelectorAll(`[data-grid="${name}"] tbody tr`)].map(
             row => [...row.querySelectorAll("td")].map(cell => cell.textContent))) === JSON.stringify(expected)""",
        arg=[name, expected],
    )


def shown(page):
    page.locator('[data-grid="context"] td').first.wait_for()
    return page


def choose(page, **choices):
    for label, value in choices.items():
        page.get_by_label(label, exact=True).select_option(value)


def expect(page, query=EYE, key=EYE, value=VALUES, **choices):
    """Wait until the page shows what the operator gives."""
    found = attention(query, key, value, **choices, return_weights=True)
    mask = choices["mask"].dense((len(query), len(key))) if "mask" in choices else None
    wait_for(page, "weights", written(found.weights, mask))
    wait_for(page, "context", written(found.context))


def test_it_opens_on_an_example(visit):
    page = shown(visit("mechanisms"))
    expect(page, score=Dot())
    assert grid(page, "scores") == written(EYE)
    assert "q=1" in page.url
    assert "from regard import Dot, Softmax, attention" in page.locator(".code pre").inner_text()


def test_numbers_are_typed(visit):
    page = shown(visit("mechanisms"))
    page.get_by_label("Queries, q1, 2").fill("2.5")
    query = EYE.clone()
    query[0, 1] = 2.5
    expect(page, query=query, score=Dot())
    page.get_by_label("Queries, q1, 2").fill("")
    page.get_by_role("alert").get_by_text("A field holds no number").wait_for()
    page.get_by_label("Queries, q1, 2").fill("-1")
    query[0, 1] = -1
    expect(page, query=query, score=Dot())
    assert page.get_by_role("alert").is_hidden()
    names: dict[str, torch.Tensor] = {}
    exec(page.locator(".code pre").inner_text(), names)
    assert torch.equal(names["query"], query)


def test_mechanisms_are_chosen(visit):
    page = shown(visit("mechanisms"))
    choose(page, Score="Additive", Normalizer="Entmax", Mask="Causal", Position="Alibi")
    page.get_by_label("α, above 1 up to 2").fill("1.25")
    page.get_by_label("v, v, 2").fill("3")
    page.get_by_label("Slope m").fill("0.25")
    expect(
        page,
        score=Additive(torch.tensor([1.0, 3.0, 1.0])),
        normalize=Entmax(1.25),
        mask=Causal(),
        position=Alibi(slopes=torch.tensor(0.25)),
    )
    link = page.url.split("#")[1]
    again = shown(visit(link))
    assert grid(again, "weights") == grid(page, "weights")
    assert again.get_by_label("Slope m").input_value() == "0.25"


@pytest.mark.parametrize(
    "score", ["ScaledDot", "Dot", "Bilinear", "Additive", "Concat", "Gaussian", "Cosine", "Location"]
)
def test_every_score_is_worked_out(visit, score):
    page = shown(visit(address(q="1,0.5;-1,2", k="0.5,1;2,-1;1,1", v="1;2;3", score=score, row=1, column=2)))
    pair = page.get_by_role("region", name="The score of q2 and k3")
    last = re.sub(r"\s", "", pair.locator("math").last.text_content())
    assert last == f"={number(float(exact(page)), 6)}"


def exact(page):
    """The chosen score, from the code beside it."""
    names: dict[str, object] = {}
    exec(
        page.locator(".code pre")
        .inner_text()
        .replace("attention(", "dict(")
        .replace("query, key, value,", "")
        .replace("context, weights, _ =", "given ="),
        names,
    )
    return names["given"]["score"].dense(names["query"].double(), names["key"].double())[1, 2]


@pytest.mark.parametrize("name", ["Softmax", "Sparsemax", "Entmax", "Sigmoid", "Hard", "Mean"])
def test_every_normalizer_is_worked_out(visit, name):
    page = shown(visit(address(q="1,0.5;-1,2", k="0.5,1;2,-1;1,1", v="1;2;3", score="Dot", normalizer=name)))
    query, key = torch.tensor([[1, 0.5]]), torch.tensor([[0.5, 1.0], [2, -1], [1, 1]])
    weights = attention(query, key, score=Dot(), normalize=getattr(regard, name)(), return_weights=True).weights[0]
    cells = page.get_by_role("region", name="The weights of q1").locator("tbody tr td:last-child").all_inner_texts()
    assert cells == [number(one) for one in weights.tolist()]


def test_presets_and_sizes(visit):
    page = shown(visit("mechanisms"))
    page.get_by_role("button", name="Kernel regression").click()
    query, key, value = (
        torch.tensor([[0.5], [1.5], [2.5]]),
        torch.tensor([[0.0], [1], [2], [3]]),
        torch.tensor([[0.0], [1], [4], [9]]),
    )
    expect(page, query=query, key=key, value=value, score=Gaussian(0.5))
    page.get_by_label("Number of keys").select_option("5")
    page.get_by_label("Keys, k5, 1").fill("4")
    page.get_by_label("Values, v5, 1").fill("16")
    more = torch.cat([key, torch.tensor([[4.0]])]), torch.cat([value, torch.tensor([[16.0]])])
    expect(page, query=query, key=more[0], value=more[1], score=Gaussian(0.5))
    for name in (
        "One-hot",
        "Dictionary lookup",
        "Causal self-attention",
        "Additive, sparse",
        "Additive without tanh",
        "Local attention",
        "Rotary",
    ):
        page.get_by_role("button", name=name, exact=True).click()
        page.wait_for_function(
            "() => !document.querySelector('[aria-busy]') && document.querySelector('[role=alert]').hidden"
        )
        names: dict[str, torch.Tensor] = {}
        page.wait_for_timeout(300)
        exec(page.locator(".code pre").inner_text(), names)
        assert grid(page, "context") == written(names["context"])


def test_without_the_tanh_the_page_says_that_the_query_makes_no_difference(visit):
    page = shown(visit("mechanisms"))
    page.get_by_role("button", name="Additive without tanh", exact=True).click()
    page.get_by_text("Every query has the same weights").wait_for()
    first, *others = grid(page, "weights")
    assert others == [first, first]
    assert "tanh" not in page.get_by_role("region", name="The score of q1 and k1").locator("math").first.text_content()
    choose(page, Normalizer="Sigmoid")
    page.get_by_text("Rows differ here because of the mask").wait_for()
    choose(page, Activation="tanh")
    page.get_by_text("go through a tanh").wait_for()
    page.wait_for_function("() => !document.querySelector('.flow ~ .note')")
    assert page.get_by_text("without the tanh").count() == 0


def test_what_does_not_fit_is_said(visit):
    page = shown(visit("mechanisms", expect_errors=True))
    choose(page, Score="Gaussian", Position="Shaw")
    page.get_by_role("alert").get_by_text("must be linear in the key for Shaw").wait_for()
    choose(page, Score="Dot")
    page.wait_for_function("() => document.querySelector('[role=alert]').hidden")


def test_arrow_keys_choose_a_pair(visit):
    page = shown(visit("mechanisms"))
    page.locator('[data-grid="scores"] [aria-selected="true"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.get_by_role("heading", name="The score of q2 and k2").wait_for()
    assert page.evaluate("document.activeElement.closest('[data-grid]').dataset.grid") == "scores"
    assert {"row=1", "column=1"} <= set(page.url.split("&"))


def test_waves_turn(visit):
    page = visit("mechanisms")
    page.get_by_label("Sinusoids").check()
    page.locator(".clocks li").first.wait_for()
    table = SinusoidalPositions(16).table(32)
    page.locator(".matrix rect.cell").nth(3 * 16 + 5).hover()
    assert number(float(table[3, 5]), 6) in page.locator(".matrix .readout").inner_text()
    page.locator(".matrix rect.cell").nth(7 * 16).click()
    page.get_by_label("Move on by k").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    status = page.locator(".check-line")
    assert "position 7, turned by k ω, and position 14" in status.inner_text()
    assert float(status.get_attribute("data-largest")) < 1e-12
    face = page.locator(".clocks svg").nth(1).get_attribute("aria-label")
    moved = [number(one, 3) for one in table[14, 2:4].tolist()]
    assert face.endswith(f"to ({', '.join(moved)})")
    names: dict[str, object] = {}
    *lines, last = page.locator(".code pre").inner_text().rstrip().split("\n")
    exec("\n".join(lines), names)
    assert eval(last, names) < 1e-12


def test_the_soft_dictionary(visit):
    page = visit("mechanisms?part=dictionary")
    page.locator(".soft-value").get_by_text("assistant").wait_for()
    page.get_by_label("Look up").fill("Brunno")
    page.locator(".soft-value").get_by_text("student").wait_for()
    page.get_by_label("Value 2", exact=True).fill("dean")
    page.locator(".soft-value").get_by_text("dean").wait_for()
    page.get_by_role("button", name="Names and ages").click()
    keys, values = ["Anna", "Bruno", "Clara", "David"], torch.tensor([52.0, 21, 27, 24])
    expected = float(lookup("Klara", keys, values, exact=False, score=Cosine(0.1)).value)
    page.locator(".soft-value").get_by_text(number(expected)).wait_for()
    slider = page.get_by_label("From hard to soft")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    sharper = lookup("Klara", keys, values, exact=False, score=Cosine(10**-1.2))
    page.locator(".soft-value").get_by_text(number(float(sharper.value))).wait_for()
    assert page.locator(".bars .number").all_inner_texts() == [number(one) for one in sharper.weights.tolist()]
    page.get_by_role("button", name="Add an entry").click()
    page.get_by_label("Key 5", exact=True).fill("Klara")
    page.get_by_text("nothing: no key equals").wait_for(state="hidden")
    assert "Exactly, as a dictionary\n30.0000" in page.locator(".lookup").inner_text()
    link = page.url.split("#")[1]
    assert visit(link).get_by_label("Key 5", exact=True).input_value() == "Klara"


def test_hostile_words_are_only_text(visit):
    page = visit("mechanisms?part=dictionary")
    page.get_by_label("Key 1", exact=True).fill("<img src=x onerror=alert(1)>")
    page.locator(".bars .name").get_by_text("<img src=x").wait_for()
    assert page.locator("main img").count() == 0
    strange = shown(visit("mechanisms?q=a,b;;&score=<b>&mask=x&row=99&column=-4&M=,"))
    assert len(grid(strange, "weights")) == 3


@pytest.mark.parametrize("part", ["attention", "waves", "dictionary"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_fits(visit, part, width):
    page = visit(
        address(part=part, score="Bilinear", mask="Causal", position="Shaw", q="1,0;0,1", k="1,0;0,1;1,1", v="1;2;3"),
        width=width,
    )
    page.locator(".code pre").wait_for()
    for details in page.locator("details summary").all():
        details.click()
    check_accessible(page)
