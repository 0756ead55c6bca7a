"""The view Read: language models of ours and of Hugging Face, with their maps, next words and generation."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser.browsing import number

TEXT = "the cat sat on a mat"


def address(model, **state):
    return f"read?{urlencode({'model': model, 'text': TEXT, **state})}"


def shown(page):
    page.locator(".picture-box svg").first.wait_for()
    return page


@pytest.mark.parametrize("model", ["letters", "gpt2"])
def test_words_are_generated_and_taken_back(visit_all, answered, model):
    page = shown(visit_all(address(model)))
    first = answered("read/text", model=model, text=TEXT)["candidates"][-1]
    names = page.locator(".next-words .name")
    expect(names).to_have_text([one["token"] for one in first[:6]])
    assert page.locator(".next-words .number").first.inner_text() == number(first[0]["probability"])
    page.get_by_role("button", name="Generate a word").click()
    page.wait_for_function("token => location.hash.includes(`output=${token}`)", arg=first[0]["id"])
    after = answered("read/text", model=model, text=TEXT, output=[first[0]["id"]])["candidates"][-1]
    expect(names).to_have_text([one["token"] for one in after[:6]])
    names.nth(1).click()
    page.wait_for_function("pair => location.hash.includes(pair)", arg=f"{first[0]['id']}.{after[1]['id']}")
    page.get_by_role("button", name="Take one back").click()
    expect(names).to_have_text([one["token"] for one in after[:6]])


def test_a_masked_model_predicts_a_hidden_word(visit_all):
    page = shown(visit_all(address("bert")))
    page.locator(".picture-box svg .cells").nth(2).locator(".cell").first.click()
    page.get_by_role("button", name="Hide this word: [MASK]").click()
    expect(page.locator("textarea")).to_have_value("the [MASK] sat on a mat")
    page.get_by_text("What stands here").wait_for()


def test_an_encoder_decoder_outputs_its_first_words_with_cross_attention(visit_all):
    page = shown(visit_all(address("bart")))
    page.wait_for_function("() => new URLSearchParams(location.hash).get('output')?.split('.').length === 12")
    select = page.get_by_label("Which attention")
    assert select.locator("option").all_inner_texts()[0] == "Cross-attention"
    assert select.locator("option").count() == 3
    select.select_option("source")
    page.wait_for_function("() => location.hash.includes('map=source')")


def test_a_cell_leads_to_its_numbers_and_to_what_if(visit_all):
    page = shown(visit_all(address("gpt2", query=4)))
    page.locator(".picture-box svg .cells").nth(3).locator(".cell").nth(1).click()
    links = {one.inner_text(): one.get_attribute("href") for one in page.locator(".cell-actions a").all()}
    assert set(links) == {"Take apart", "Change"}
    assert all("query=4&key=2" in link for link in links.values())
    page.get_by_role("link", name="Take apart").click()
    expect(page.locator(".queries [aria-pressed=true]")).to_have_text("sat")


def test_words_that_are_not_known_are_named_as_typed(visit_all):
    page = shown(visit_all(f"read?{urlencode({'model': 'bert', 'text': 'the zebra sat'})}"))
    page.get_by_text("The model does not know “zebra”").wait_for()
    assert "⟨zebra⟩" in page.locator(".picture-box svg").text_content()
