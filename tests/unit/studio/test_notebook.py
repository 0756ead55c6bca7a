"""Views in notebooks: one frame that holds everything, and `regard.inspect` as before."""

import re
from html import unescape

import pytest

import regard
from regard.errors import ArgumentError
from regard.inspection.trace.inspected import Inspection
from regard.studio.models import Models
from regard.studio.notebook import StudioView, frame
from regard.tasks.translation.model import Translator
from unit.studio.seers import REVIEW, make_english, make_seers

TEXT = "El libro"


def inner(shown: str) -> str:
    """Give the page of a frame."""
    return unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox=.*></iframe>', shown, flags=re.DOTALL).group(1))


def test_a_frame_runs_its_own_script_and_reaches_nothing():
    shown = frame('<p title="x">a & b</p>', height=200)
    assert inner(shown) == '<p title="x">a & b</p>'
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert "height: 200px" in shown


def test_studio_is_a_function_though_a_folder_has_its_name(models):
    assert isinstance(models, Models)  # of that folder
    assert callable(regard.studio)
    with models.borrow("recurrent", Translator) as thing:
        view = regard.studio(thing, TEXT)
    assert isinstance(view, StudioView)
    assert '"view":"translate"' in inner(view._repr_html_())
    assert "https://" not in view.page


@pytest.mark.parametrize("view", ["steps", "whatif"])
def test_other_views_of_a_translator(models, view, tmp_path):
    with models.borrow("recurrent", Translator) as thing:
        result = regard.studio(thing, TEXT, view=view)
    result.save(tmp_path / "view.html")
    assert f'"view":"{view}"' in (tmp_path / "view.html").read_text(encoding="utf-8")


def test_classifiers_and_picture_models(tmp_path):
    assert '"view":"classify"' in regard.studio(make_english()["attending"], REVIEW).page
    assert '"view":"ask"' in regard.studio(make_seers()["answerer"]).page
    assert '"view":"ask"' in regard.studio("shapes").page


def test_views_that_a_model_has_not_are_refused(models):
    with (
        models.borrow("recurrent", Translator) as thing,
        pytest.raises(ArgumentError, match=r"`view` must be one of translate, whatif, steps for this model; received"),
    ):
        regard.studio(thing, TEXT, view="classify")
    with pytest.raises(ArgumentError, match="`view` must be ask for a model that reads images; received 'steps'"):
        regard.studio(make_seers()["answerer"], view="steps")


def test_inspect_gives_an_inspection_whose_notebook_form_is_the_view(models):
    with models.borrow("recurrent", Translator) as thing:
        result = regard.inspect(thing, TEXT)
        assert isinstance(result, Inspection)
        assert '"view":"translate"' in inner(result._repr_html_())
        forced = regard.inspect(thing, TEXT, target="a b")
        assert forced.target == "a b"
        assert '"view":"steps"' in inner(forced._repr_html_())
        assert "<svg" in thing.inspect(TEXT)._repr_html_()  # of the model alone, the figure
