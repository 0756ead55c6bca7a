"""Views as single files, from Python: each gives a page that opens anywhere, without a model."""

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from torch import nn

from regard.data.images.picture import picture_size
from regard.errors import ArgumentError
from regard.inspection.trace.attention_layers import layers_with
from regard.studio.direct import direct, write_address
from regard.studio.models import Models, open_one
from regard.studio.preview import linked_page
from regard.studio.schema.keep import Question, RecordedAnswer, Recording
from regard.studio.schema.parts import MAX_LETTERS
from regard.studio.single_file import Watch, watch_nothing
from regard.studio.text_models import TextModel
from regard.studio.views.ask import offered_questions, size_of
from regard.studio.views.steps import MAX_TOKENS, count_tokens
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.picture_input import read_any_picture
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.translation.model import Translator

Reader = Translator | LanguageModel | Classifier
Seer = QuestionAnswerer | Captioner | ImageClassifier
NAME = "model"
"""Of a model that lies in no folder."""


def translation_page(translator: Translator, text: str, *, beam: int = 5, watch: Watch = watch_nothing) -> str:
    """Give a page that shows one translation from every side, as the view Translate does."""
    return linked_page(record_translation(translator, text, beam=beam, watch=watch))


def record_translation(
    translator: Translator, text: str, *, beam: int = 5, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record a search: its outputs with their checks, and the hypotheses on the way."""
    body = _sentence(text, name)
    with direct(_one(translator, name)) as studio:
        search = Question(verb="translate/search", body={**body, "beam": beam})
        result = studio.ask(search.verb, search.body)
        tokens = result["outputs"][0]["tokens"] if result["outputs"] else []
        shown = [search, Question(verb="translate/attention", body={**body, "tokens": tokens})]
        if result["attends"] and tokens:
            shown.append(Question(verb="translate/checks", body={**body, "tokens": tokens}))
        return studio.record("translate", {"text": text, "beam": beam}, shown, watch=watch)


def steps_page(model: Reader, text: str, *, target: str | None = None, watch: Watch = watch_nothing) -> str:
    """Give a page that takes every query of a layer apart, as the view Step by step does."""
    return linked_page(record_steps(model, text, target=target, watch=watch))


def can_take_apart(model: Reader, text: str, target: str | None = None) -> bool:
    """Return whether there is such a page of a text: for a model that attends, and no more tokens than are drawn."""
    if not text.strip() or not isinstance(model.model, nn.Module) or not layers_with(model.model):
        return False
    longest = max(count_tokens(model, text), 0 if target is None else count_tokens(model, target, side="target"))
    return longest <= MAX_TOKENS


def record_steps(
    model: Reader, text: str, *, target: str | None = None, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record every query of the layer that is shown first."""
    body = _sentence(text, name) | {"target": _checked("target", target)}
    with direct(_one(model, name)) as studio:
        read = Question(verb="steps/read", body=body)
        reading = studio.ask(read.verb, read.body)
        layer = next(item for item in reading["layers"] if item["name"] == reading["layer"])
        query = min(1, len(layer["queries"]) - 1)
        apart = {**body, "target": reading["target"], "layer": layer["name"], "head": 0, "query": query}
        maps = {name: value for name, value in apart.items() if name != "query"}
        shown = [read, Question(verb="steps/apart", body=apart), Question(verb="steps/maps", body=maps)]
        return studio.record("steps", {"text": text, "target": target}, shown, watch=watch)


def what_if_page(translator: Translator, text: str, *, step: int = 0, watch: Watch = watch_nothing) -> str:
    """Give a page on which a step of a translation can be changed, as in the view What if."""
    return linked_page(record_what_if(translator, text, step=step, watch=watch))


def record_what_if(
    translator: Translator, text: str, *, step: int = 0, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record all that can be done at the step `step`, one thing at a time; the other steps stay undisturbed."""
    body = _sentence(text, name)
    with direct(_one(translator, name)) as studio:
        begin = Question(verb="whatif/begin", body=body)
        tokens = studio.ask(begin.verb, begin.body)["tokens"]
        if not 0 <= step < len(tokens):
            raise ArgumentError(f"`step` must be one of the {len(tokens)} steps of the translation; received {step}.")
        change = {**body, "tokens": tokens, "step": step, "layer": -1, "head": -1, "onward": False}
        change |= {"hidden": [], "pinned": [], "replaced": []}
        shown = [begin, Question(verb="whatif/change", body=change)]
        return studio.record("whatif", {"text": text, "query": step + 1}, shown, watch=watch)


def relabeling_page(classifier: Classifier, text: str, *, watch: Watch = watch_nothing) -> str:
    """Give a page on which the weights that sum a text up can be changed, as in the view What if."""
    return linked_page(record_relabeling(classifier, text, watch=watch))


def record_relabeling(
    classifier: Classifier, text: str, *, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record each token masked, and each weight forced to zero and to one, one at a time."""
    shown = [Question(verb="whatif/label", body={**_sentence(text, name), "hidden": [], "pinned": []})]
    with direct(_one(classifier, name)) as studio:
        return studio.record("whatif", {"text": text}, shown, watch=watch)


def classification_page(classifier: Classifier, texts: Sequence[str], *, watch: Watch = watch_nothing) -> str:
    """Give a page that shows how texts were labeled, as the view Classify does; it opens at the first."""
    return linked_page(record_classification(classifier, texts, watch=watch))


def record_classification(
    classifier: Classifier, texts: Sequence[str], *, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record the labels, the words that were weighed, and the maps of some texts."""
    if isinstance(texts, str) or not texts:
        raise ArgumentError("`texts` must be one text or more in a list; received none. Give a list of texts.")
    verbs = ("classify/read", "classify/maps", "passage/attention")
    shown = [Question(verb=verb, body=_sentence(text, name)) for text in texts for verb in verbs]
    with direct(_one(classifier, name)) as studio:
        return studio.record("classify", {"text": texts[0]}, shown, watch=watch)


def reading_page(model: LanguageModel | TextModel, text: str, *, watch: Watch = watch_nothing) -> str:
    """Give a page of what a language model attends to and predicts, as the view Read does."""
    return linked_page(record_reading(model, text, watch=watch))


def record_reading(
    model: LanguageModel | TextModel, text: str, *, name: str = NAME, watch: Watch = watch_nothing
) -> Recording:
    """Record a text, and what follows it word by word."""
    shown = [Question(verb="read/text", body={**_sentence(text, name), "output": []})]
    with direct(_one(model, name)) as studio:
        return studio.record("read", {"text": text}, shown, watch=watch)


def scene_page(model: Seer, seed: int = 1, *, watch: Watch = watch_nothing) -> str:
    """Give a page of a drawn scene and what a model answers, as the view Ask an image does."""
    return linked_page(record_scene(model, seed, watch=watch))


def record_scene(model: Seer, seed: int = 1, *, name: str = NAME, watch: Watch = watch_nothing) -> Recording:
    """Record the scene of a seed: its first question with its checks, and the others that are offered."""
    questions = offered_questions(model, seed)
    body = {"model": name, "seed": seed}
    request = {**body, "question": questions[0] if questions else ""}
    shown = [Question(verb="ask/picture", body=body)]
    shown += [Question(verb=verb, body=request) for verb in ("ask/answer", "ask/checks")]
    with direct(_one(model, name)) as studio:
        return studio.record("ask", {"seed": seed, "question": request["question"] or None}, shown, watch=watch)


def picture_page(model: Seer, picture: Path, questions: Sequence[str] = (), *, watch: Watch = watch_nothing) -> str:
    """Give a page of a picture and what a model answers, as the view Ask an image does."""
    return linked_page(record_picture(model, picture, questions, watch=watch))


def record_picture(
    model: Seer, picture: Path, questions: Sequence[str] = (), *, watch: Watch = watch_nothing
) -> Recording:
    """Record every question with its checks; a model that describes or labels takes none."""
    asks = isinstance(model, QuestionAnswerer)
    if asks != bool(questions):
        expected = (
            "at least one for a model that answers questions" if asks else "none for a model that takes no question"
        )
        raise ArgumentError(f"`questions` must be {expected}; received {len(questions)}.")
    file, tag = _as_png(model, picture), f"picture {_readable(picture.name)}"
    bodies: list[tuple[str, dict[str, Any]]] = [("ask/picture", {})]
    bodies += [(verb, {"question": item}) for item in questions or [""] for verb in ("ask/answer", "ask/checks")]
    answers = []
    with direct(_one(model)) as studio:
        for done, (verb, more) in enumerate(bodies):
            watch("covering positions", done, len(bodies))
            answer = studio.ask(verb, {"model": NAME, "file": file, **more})
            if verb == "ask/picture":  # the studio read it at the size of the model
                answer["original"] = list(picture_size(picture))
            answers.append(RecordedAnswer(verb=verb, body={"model": NAME, "file": tag, **more}, answer=answer))
        state = {"own": tag} | ({"question": questions[0]} if questions else {})
        empty = studio.models.overview()
    return Recording(overview=empty, view="ask", address=write_address("ask", state), answers=answers)


def _one(model: object, name: str = NAME) -> Models:
    return Models.of(open_one(model, name))


def _sentence(text: str, name: str) -> dict[str, Any]:
    return {"model": name, "text": _checked("text", text)}


def _checked(name: str, text: str | None) -> str | None:
    """Refuse a text that is longer than the studio takes one."""
    if text is not None and len(text) > MAX_LETTERS:
        raise ArgumentError(f"`{name}` must have at most {MAX_LETTERS:,} letters; received {len(text):,}. Shorten it.")
    return text


def _as_png(model: Seer, picture: Path) -> str:
    """Read a picture as the command line does, which takes more kinds of files than the studio, at the model's size."""
    size, channels = size_of(model)
    pixels = read_any_picture(picture, size=size, channels=channels).numpy()
    buffer = io.BytesIO()
    Image.fromarray(pixels[0] if channels == 1 else pixels.transpose(1, 2, 0)).save(buffer, format="png")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _readable(name: str) -> str:
    """Replace bytes that are no UTF-8, which a file's name may have and an address may not."""
    return name.encode("utf-8", "replace").decode()
