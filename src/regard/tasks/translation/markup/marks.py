"""A text without its marks, and the marks as a tree: pairs with what they enclose, and single ones."""

from dataclasses import dataclass, field

from regard.tasks.translation.markup.tokens import Form, Token, divide_marks, is_void

DEEPEST = 32
"""Pairs inside each other; tags further inside are carried one by one, in their order."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A pair of marks around characters of the plain text, or a single one before the character `start`."""

    opening: str
    closing: str = ""
    start: int
    end: int
    inner: tuple["Mark", ...] = ()
    ordered: bool = False
    """A tag without its other half, which must stay behind those before it."""
    follows: bool = False
    """Goes with the word before, not with the one after."""
    replaces: bool = False
    """Stands for words, as a placeholder does, and so has spaces around it as they have."""


@dataclass(frozen=True, kw_only=True)
class Marked:
    """A text and its marks."""

    plain: str
    """What a model reads."""
    form: Form
    marks: tuple[Mark, ...]
    pieces: tuple[tuple[int, int, str], ...]
    """Where runs of text begin in `plain` and in the text itself, and how they are written there."""


@dataclass
class _Open:
    token: Token
    start: int
    inner: list[Mark] = field(default_factory=list)


def read_marks(text: str, form: Form) -> Marked:
    """Take the marks out of a text.

    A closing tag closes the nearest open one of its name; tags inside that are still open are single marks then, and so
    are those without another half, as in a sentence of a longer text.

    >>> read_marks("¿Dónde está <b>el <i>libro</i></b>?", "html").plain
    '¿Dónde está el libro?'
    """
    builder = _Builder(form)
    for token in divide_marks(text, form):
        builder.add(token)
    return builder.finish()


class _Builder:
    def __init__(self, form: Form) -> None:
        self.form = form
        self.plain, self.length, self.last = list[str](), 0, ""
        self.read = 0
        self.stack = [_Open(Token("open", ""), 0)]
        self.pieces: list[tuple[int, int, str]] = []
        self.apart = False  # a mark that divides words came last
        self.deep: list[str] = []  # tags that are open beyond the deepest

    def add(self, token: Token) -> None:
        """Take the next token."""
        match token.kind:
            case "text":
                self._add_text(token)
            case "open" if len(self.stack) <= DEEPEST:
                self.stack.append(_Open(token, self.length))
            case "open":
                self.deep.append(token.name)
                self._add_single(token)
            case "close" if self.deep[-1:] == [token.name]:
                self.deep.pop()
                self._add_single(token)
            case "close":
                self._close(token)
            case _:
                self._add_single(token)
        self.read += len(token.raw)

    def finish(self) -> Marked:
        """Give the whole."""
        while len(self.stack) > 1:
            self._unpair()
        marks = tuple(self.stack[0].inner)
        return Marked(plain="".join(self.plain), form=self.form, marks=marks, pieces=tuple(self.pieces))

    def _add_text(self, token: Token) -> None:
        if self.apart and self.last.isalnum() and token.name[:1].isalnum():
            self._write(" ")
        self.apart = False
        self.pieces.append((self.length, self.read, token.raw))
        self._write(token.name)

    def _write(self, text: str) -> None:
        self.plain.append(text)
        self.length += len(text)
        self.last = text[-1:]

    def _add_single(self, token: Token) -> None:
        position = self.length
        separates = token.kind == "single"
        self.apart = self.apart or separates
        self.stack[-1].inner.append(
            Mark(
                opening=token.raw,
                start=position,
                end=position,
                ordered=token.kind in ("open", "close"),
                follows=token.kind == "close",
                replaces=separates and not is_void(token),
            )
        )

    def _close(self, token: Token) -> None:
        names = [item.token.name for item in self.stack[1:]]
        if token.name not in names:
            # In Markdown the same mark opens and closes.
            may_open = token.raw == token.name and token.raw[0] in "*_~"
            if may_open and len(self.stack) <= DEEPEST:
                self.stack.append(_Open(token, self.length))
            else:
                self._add_single(token)
            return
        while self.stack[-1].token.name != token.name:
            self._unpair()
        item = self.stack.pop()
        pair = Mark(
            opening=item.token.raw,
            closing=token.raw,
            start=item.start,
            end=self.length,
            inner=tuple(item.inner),
        )
        self.stack[-1].inner.append(pair)

    def _unpair(self) -> None:
        """Make a single mark of the innermost tag that is open."""
        item = self.stack.pop()
        single = Mark(opening=item.token.raw, start=item.start, end=item.start, ordered=True)
        self.stack[-1].inner += [single, *item.inner]
