"""Pages of `regard inspect`: which of the studio's views shows a model, and what is recorded for it."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.studio.schema.keep import Recording
    from regard.studio.single_file import Watch

View: TypeAlias = Literal["translate", "steps", "what-if", "classify"]
"""Views of the studio that a page can show."""


def usual_view(loaded: object, text: str, target: str | None) -> View | None:
    """Return which view shows most of a model; none where a figure does.

    It is Translate for a translation that the model finds, Classify for a classifier, and Step by step for a language
    model that attends.
    """
    from regard.studio.pages import can_take_apart
    from regard.tasks.classification.model import Classifier
    from regard.tasks.language.model import LanguageModel
    from regard.tasks.translation.model import Translator

    if isinstance(loaded, Translator):
        return "translate" if target is None else None
    if isinstance(loaded, Classifier):
        return "classify" if target is None else None
    return "steps" if isinstance(loaded, LanguageModel) and can_take_apart(loaded, text, target) else None


def check_view(view: str, loaded: object, target: str | None) -> None:
    """Raise where a model has no such view; `loaded` is none for a Hugging Face model."""
    from regard.tasks.classification.model import Classifier
    from regard.tasks.language.model import LanguageModel
    from regard.tasks.translation.model import Translator

    fitting: tuple[str, ...]
    match loaded:
        case Translator():
            name, fitting = "a translator", ("translate", "steps", "what-if") if target is None else ("steps",)
        case LanguageModel():
            name, fitting = "a language model", ("steps",)
        case Classifier():
            name, fitting = "a classifier", ("classify", "steps", "what-if")
        case _:
            name, fitting = "a Hugging Face model", ()
    if view not in fitting:
        expected = " or ".join(fitting) if fitting else "left out"
        made = " whose output is forced" if target is not None else ""
        raise ArgumentError(f"`--view` must be {expected} for {name}{made}; received {view}.")


def record_view(view: View, loaded: Any, text: str, *, target: str | None = None, watch: "Watch") -> "Recording":
    """Ask a model whatever a visitor of the view may ask of this text."""
    from regard.studio.pages import (
        record_classification,
        record_relabeling,
        record_steps,
        record_translation,
        record_what_if,
    )
    from regard.tasks.classification.model import Classifier

    match view:
        case "translate":
            return record_translation(loaded, text, watch=watch)
        case "what-if" if isinstance(loaded, Classifier):
            return record_relabeling(loaded, text, watch=watch)
        case "what-if":
            return record_what_if(loaded, text, watch=watch)
        case "classify":
            return record_classification(loaded, [text], watch=watch)
        case "steps":
            return record_steps(loaded, text, target=target, watch=watch)
