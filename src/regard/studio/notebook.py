"""Views of the studio in a notebook: `regard.studio(model, text)`, and what `regard.inspect` gives, as a frame.

A frame holds the whole page with its answers, so it needs no server, is saved with the notebook, and is part of what
nbconvert makes of that. The package is light to import: the studio itself is loaded when a view is made.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Literal

from regard.errors import ArgumentError, ArgumentTypeError, with_article
from regard.inspection.trace.inspected import Inspection
from regard.inspection.trace.inspected import inspect as inspect_plainly

ViewName = Literal["", "translate", "read", "classify", "ask", "steps", "whatif"]
HEIGHT = 680
"""Pixels of a frame."""


@dataclass(frozen=True, eq=False)
class StudioView:
    """A view of the studio as one page; a notebook shows it in a frame."""

    page: str
    """The page, which needs nothing else."""
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        """Show the view in a notebook."""
        return frame(self.page, height=self.height)

    def save(self, path: str | Path) -> None:
        """Write the page as a file that any browser opens."""
        Path(path).write_text(self.page, encoding="utf-8")

    def __repr__(self) -> str:
        return f"StudioView({len(self.page):,} letters; .save('view.html') writes it as a file)"


def frame(page: str, *, height: int = HEIGHT) -> str:
    """Put a page into a frame that lets it run its own script and save pictures, and reach nothing else."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" title="regard studio" '
        f'style="width: 100%; height: {height}px; border: 1px solid #dedbd6; border-radius: 10px"></iframe>'
    )


def studio(
    model: Any,
    text: str = "",
    *,
    view: ViewName = "",
    target: str | None = None,
    image: str | Path | None = None,
    question: str = "",
    height: int = HEIGHT,
) -> StudioView:
    """Show a view of the studio in a notebook: what `model` attends to when it reads `text`, with its numbers.

    `model` is what `regard.load` gives, or its folder or name. `view` is translate, read, classify, ask, steps or
    whatif; without one, that of the model's task. `text` may be left out where the studio has an example for the
    model. A model that reads images takes `image` and `question`; without an image, a drawn scene.

    `target` forces the output of a translator in the view steps.
    """
    from regard.studio.models import open_one

    if isinstance(model, str | Path):
        from regard.tasks.load import load

        model = load(model)
    opened = open_one(model)
    own = _OWN.get(opened.kind)
    if own is None:
        raise ArgumentTypeError(
            f"`model` must be one that the studio has a view for; received {with_article(opened.kind)}."
        )
    name = view or ("steps" if target is not None else own)
    if opened.kind == "vision":
        return StudioView(_picture(model, name, image, question), height)
    examples = [item.text for item in opened.about.examples]
    if not text and not examples:
        raise ArgumentError(
            "`text` must be a text for the model to read; received none. Give one: studio(model, text)."
        )
    return StudioView(_text(model, opened.kind, name, text or examples[0], target), height)


_OWN = {"translator": "translate", "language": "read", "classifier": "classify", "vision": "ask"}


def _text(model: Any, kind: str, view: str, text: str, target: str | None) -> str:
    from regard.studio import pages

    made: dict[tuple[str, str], Callable[[], str]] = {
        ("translator", "translate"): lambda: pages.translation_page(model, text),
        ("translator", "whatif"): lambda: pages.what_if_page(model, text),
        ("classifier", "classify"): lambda: pages.classification_page(model, [text]),
        ("classifier", "whatif"): lambda: pages.relabeling_page(model, text),
        ("language", "read"): lambda: pages.reading_page(model, text),
        **{(each, "steps"): lambda: pages.steps_page(model, text, target=target) for each in _OWN},
    }
    if (kind, view) not in made:
        offered = [name for each, name in made if each == kind]
        raise ArgumentError(f"`view` must be one of {', '.join(offered)} for this model; received {view!r}.")
    return made[kind, view]()


def _picture(model: Any, view: str, image: str | Path | None, question: str) -> str:
    from regard.studio import pages

    if view != "ask":
        raise ArgumentError(f"`view` must be ask for a model that reads images; received {view!r}.")
    if image is None:
        return pages.scene_page(model)
    return pages.picture_page(model, Path(image), [question] if question else [])


def inspect(model: Any, /, *inputs: Any, target: str | None = None) -> Inspection:
    """Run a model on a text, and give what it read, its output and what its layers attended to.

    - `inspect(loaded, text)`, with what `regard.load` gives, is `loaded.inspect(text)`.
    - `inspect(model, tokenizer, text)` is for models of Hugging Face: encoders, decoders and both together.

    With `target`, the model is forced to it; without, a translator takes its best output, and other models none. A
    notebook shows the view of the studio, or the figure where there is no such view.
    """
    result = inspect_plainly(model, *inputs, target=target)
    if len(inputs) == 1 and isinstance(inputs[0], str):
        return replace(result, view=lambda: _view_of(model, inputs[0], target))
    return result


def _view_of(model: Any, text: str, target: str | None) -> str:
    """Give the frame of the view, or nothing where the studio has none."""
    from regard.errors import RegardError

    try:
        return studio(model, text, target=target)._repr_html_()
    except RegardError:
        return ""
