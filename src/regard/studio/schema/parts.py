"""What requests and answers of every view have in common."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_LETTERS = 50_000
"""Of a text."""
MAX_NUMBER = 2**31 - 1
"""The largest number of a token or a position that is read; tensors hold none above 2⁶³."""

Index = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
Token = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Name = Annotated[str, Field(max_length=200)]
"""Of a model, a layer or a run."""


MapName = Literal["cross", "source", "target", "text", "pooling"]
"""Which attention: of the output to the source, of the source, of the output, of a text to itself; of its summary."""


class Request(BaseModel):
    """What the page asks; a part that there is not is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class EmptyRequest(Request):
    """No settings."""


class Sentence(Request):
    """A text for a model; the first that fits the view where none is named."""

    model: Name = ""
    text: str = Field(max_length=MAX_LETTERS)


class Answer(BaseModel):
    """What the studio answers."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    def parts(self) -> dict[str, Any]:
        """Give its fields, for an answer that has them too."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class Probability(Answer):
    """A label, or an answer, and how likely it is."""

    name: str
    probability: float


class Refusal(Answer):
    """Why a request was not answered, in a sentence for the visitor."""

    error: str
