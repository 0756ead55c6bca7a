"""Inspect: one call that runs a model on a text and shows what all its layers attended to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload, runtime_checkable

from torch import nn

from regard.errors import ArgumentError, ArgumentTypeError
from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.readings.words_of_tokens import Spelling, merge_words
from regard.inspection.trace.trace import Call, Trace

if TYPE_CHECKING:
    from regard.inspection.drawing.picture import Picture


class Likely(NamedTuple):
    """A token or label that a model may output, and its probability."""

    text: str
    probability: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Inspection:
    """What a model read and output, and what it attended to."""

    text: str
    """As it was given."""
    tokens: tuple[str, ...]
    """As the model read them."""
    trace: Trace
    """One call for each layer, with the tokens as labels. Where a decoder attends to its source, a query is named by
    the token that it predicts; elsewhere by the token that it is."""
    spellings: Mapping[str, tuple[Spelling, Spelling]]
    """For each layer, the tokens that attend and those attended to, from which words are made."""
    layer: str
    """The layer that is shown where none is named."""
    head: int | None = None
    """The head of it that is shown where neither is named, such as one that was trained on word links; None: the mean
    over all."""
    target: str | None = None
    """What the model output, or was forced to."""
    target_tokens: tuple[str, ...] = ()
    target_probabilities: tuple[float, ...] = ()
    """Of each target token, given those before it."""
    model: str = ""
    """Which model it was."""
    read_as: Mapping[str, str] = field(default_factory=dict)
    """Words that were typed without their accents or case, and how they were read."""
    likely: tuple[Likely, ...] = ()
    """What the model holds likeliest, best first: the next token, the token behind a mask, or the label."""
    view: Callable[[], str] | None = None
    """Gives the HTML that a notebook shows instead of the figure, or nothing."""

    def __repr__(self) -> str:
        arrow = "" if self.target is None else f" → {self.target!r}"
        return f"Inspection({self.text!r}{arrow}, {len(self.trace.layers)} layers)"

    def _repr_html_(self) -> str:
        """Show it in a notebook: the view of the studio where there is one, else the figure."""
        return (self.view() if self.view is not None else "") or self.figure()._repr_html_()

    def call(self, layer: str | None = None) -> Call:
        """Give the call of one layer, or of the one that is shown where none is named."""
        return self.trace[self.layer if layer is None else layer][0]

    def map(self, layer: str | None = None, *, head: int | None = None) -> Map:
        """Give the weights of one head, or the mean over heads, with their words."""
        return weights_of(self.call(layer), head=self._shown_head(layer, head))

    def words(self, layer: str | None = None, *, head: int | None = None) -> Map:
        """Give the same by words: sums over the tokens of a word that is attended to, means over one that attends."""
        call = self.call(layer)
        query_spelling, key_spelling = self.spellings[call.layer]
        query = query_spelling.words()
        key = query if key_spelling is query_spelling else key_spelling.words()
        return merge_words(weights_of(call, head=self._shown_head(layer, head)), query=query, key=key)

    def _shown_head(self, layer: str | None, head: int | None) -> int | None:
        return self.head if layer is None and head is None else head

    def figure(self, layer: str | None = None, *, head: int | None = None) -> "Picture":
        """Draw a map of each head of a layer, or of one."""
        from regard.inspection import figure_of

        call = self.call(layer)
        picture = figure_of(call, title=call.layer) if head is None else self.map(layer, head=head).figure()
        picture.about = self.about
        return picture

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        """What a page shows above the figure: input, output and model."""
        respelled = ", ".join(f"{typed} as {read}" for typed, read in self.read_as.items())
        entries = (("Text", self.text), ("Read", respelled), ("Said", self.target or ""), ("Model", self.model))
        return tuple((name, " ".join(words.split())) for name, words in entries if words)

    def lines(self, layer: str | None = None, *, head: int | None = None) -> "Picture":
        """Draw lines between the words, for one head or the mean over heads."""
        from regard.inspection import alignment_lines

        shown = self.map(layer, head=head)
        return alignment_lines(shown.values, query_labels=shown.labels[0], key_labels=shown.labels[1], title=shown.name)

    def matrix(self, layer: str | None = None, *, head: int | None = None, width: int = 80) -> list[str]:
        """Draw one head, or the mean over heads, as lines of text."""
        from regard.inspection.drawing.text_matrix import draw_weights

        shown = self.map(layer, head=head)
        return draw_weights(shown.values, shown.labels[1], shown.labels[0], mask=shown.mask, width=width)

    def to_json(self, layer: str | None = None, *, head: int | None = None) -> dict[str, Any]:
        """Give a dictionary that `json.dumps` takes, with the weights of one layer: of one head, or of all."""
        call, shown = self.call(layer), self.map(layer, head=head)
        rows, columns = map(len, shown.labels)
        heads = call.weights[0, :, :rows, :columns] if head is None else shown.values.unsqueeze(0)
        return {
            "text": self.text,
            "read_as": dict(self.read_as),
            "tokens": list(self.tokens),
            "target": self.target,
            "target_tokens": list(self.target_tokens),
            "target_probabilities": list(self.target_probabilities),
            "likely": [item._asdict() for item in self.likely],
            "layers": self.trace.layers,
            "layer": call.layer,
            "heads": list(range(len(heads))) if head is None else [head],
            "query": list(shown.labels[0]),
            "key": list(shown.labels[1]),
            "weights": heads.tolist(),
        }


@runtime_checkable
class Inspectable(Protocol):
    """A loaded model that knows how to be inspected: what `regard.load` gives."""

    @property
    def inspect(self) -> Callable[..., Inspection]:
        """Take the model's inputs, and a keyword `target` where it generates."""


@overload
def inspect(model: nn.Module, tokenizer: Any, text: str, /, *, target: str | None = None) -> Inspection: ...
@overload
def inspect(model: Inspectable, /, *inputs: Any, target: str | None = None) -> Inspection: ...
def inspect(model: Any, /, *inputs: Any, target: str | None = None) -> Inspection:
    """Run a model on a text, and give what it read, its output and what its layers attended to.

    - `inspect(loaded, text)`, with what `regard.load` gives, is `loaded.inspect(text)`.
    - `inspect(model, tokenizer, text)` is for models of Hugging Face: encoders, decoders and both together.

    With `target`, the model is forced to it; without, a translator takes its best output, and other models none.
    """
    if isinstance(model, nn.Module):
        from regard.inspection.hugging_face.inspect import inspect_hugging_face

        if len(inputs) != 2:
            raise ArgumentError(
                "`inspect` of a Hugging Face model must be given model, tokenizer and text; received "
                f"{1 + len(inputs)} of these. Write inspect(model, tokenizer, text)."
            )
        return inspect_hugging_face(model, *inputs, target=target)
    if not isinstance(model, Inspectable):
        shows = [item for item in ("ask(image, question)", "caption(image)[0]") if hasattr(model, item.split("(")[0])]
        raise ArgumentTypeError(
            "`model` must be a Hugging Face model, or have a method `inspect`, as what regard.load gives; received "
            f"{type(model).__name__}." + "".join(f" What it attends to is in model.{item}.attention." for item in shows)
        )
    if target is None:
        return model.inspect(*inputs)
    if "target" not in signature(model.inspect).parameters:
        raise only_reads(model)
    return model.inspect(*inputs, target=target)


def only_reads(model: object) -> ArgumentError:
    """Report that a model cannot be forced to a target."""
    return ArgumentError(
        f"`target` must go with a model that says something; received {type(model).__name__}, which only reads. "
        "Leave it out."
    )


def main_layer(crossing: list[str], every: list[str]) -> str:
    """Choose the layer to show: of those that attend to a source the last but one, as alignments do; else the last.

    Reference: Garg et al. (2019), arXiv:1909.02074 (the last layer but one aligns best).
    """
    return crossing[max(len(crossing) - 2, 0)] if crossing else every[-1]
