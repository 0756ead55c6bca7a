"""One file with answers baked in."""

import json
import re

import pytest

from regard.studio.page import record_translation, translation_page
from regard.tasks.translator import Translator

TEXT = "El libro </script><img src=x onerror=alert(1)>"


@pytest.fixture
def thing(models):
    with models.borrow("recurrent", Translator) as found:
        yield found


def test_nothing_of_a_sentence_gets_out_of_its_element(thing):
    page = translation_page(thing, TEXT, beam=2)
    assert "<img" not in page
    assert page.count("</script>") == 2
    data = re.search(r'<script type="application/json" id="recorded">(.*?)</script>', page, re.DOTALL).group(1)
    assert json.loads(data)["answers"][0]["body"]["text"] == TEXT


def test_the_page_may_load_nothing(thing):
    page = translation_page(thing, TEXT, beam=2)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_what_a_visitor_may_ask_is_recorded(thing):
    recorded = record_translation(thing, "El libro", beam=3)
    asked = [(one.verb, tuple(one.body.get("tokens", ()))) for one in recorded.answers]
    assert len(asked) == len(set(asked))
    search = recorded.answers[0]
    assert search.body == {"model": "", "text": "El libro", "beam": 3}
    for output in search.answer["outputs"]:
        assert ("translate/look", tuple(output["tokens"])) in asked
        assert ("translate/honesty", tuple(output["tokens"])) in asked
    for place, one in enumerate(search.answer["tree"][0]):
        assert (("translate/look", (one["id"],)) in asked) == one["kept"], place
