"""Divide a text into words to translate and marks to carry along: tags, comments, entities, placeholders.

Each pattern takes time in proportion to the text, whatever the text is: no two marks can begin at the same character,
and none reaches beyond the next `<`, so that nothing is read twice.
"""

import html
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

Markup: TypeAlias = Literal["html", "xml", "placeholders"]
"""What is carried through a translation."""
Form: TypeAlias = Literal["html", "xml", "placeholders", "markdown", "subtitles"]
"""The same, and what documents are written in."""
Kind: TypeAlias = Literal["text", "open", "close", "single", "comment"]

VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
"""Elements of HTML that have no end tag."""
OPAQUE = frozenset(["code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "var"])
"""Elements of HTML whose text is no language."""

_TAG = r"""</?[A-Za-z_:][^\s<>"'/]*+(?:[^<>"']++|"[^"<]*+"|'[^'<]*+')*+>"""
_ASIDE = (
    r"<!--(?:(?!-->|<!--).)*+-->|<!\[CDATA\[(?:(?!\]\]>|<!\[CDATA\[).)*+\]\]>"
    r"|<\?(?:(?!\?>|<\?).)*+\?>|<![A-Za-z][^<>]*+>"
)
_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_PLACEHOLDER = (
    r"\{\{[^{}]*+\}\}|\$\{[^{}]*+\}|\{[^{}]*+\}|\$[A-Za-z_]\w*+"
    r"|(?<!\d)%(?:\(\w++\)|\d++\$)?[-+#0]?\d*+(?:\.\d++)?[sdifuxXgGeEc@](?![A-Za-z])"
)
_CODE = r"(?P<ticks>`++)(?:(?!(?P=ticks)).)++(?P=ticks)(?!`)"
_LINK = r"\[\^[^\[\]]*+\]|\[(?=[^\[\]]*+\](?:\([^()]*+\)|\[[^\[\]]*+\]))|\](?:\([^()]*+\)|\[[^\[\]]*+\])"
_MARKDOWN = (
    rf"\\[!-/:-@\[-`{{-~]|{_CODE}|!\[[^\[\]]*+\]\([^()]*+\)|<https?:[^\s<>]*+>|https?://[^\s<>()\[\]*`]++"
    rf"|{_LINK}|\*{{1,3}}|_{{1,3}}|~~"
)
_PATTERNS: dict[Form, re.Pattern[str]] = {
    "html": re.compile(f"{_ASIDE}|{_TAG}|{_ENTITY}", re.DOTALL),
    "xml": re.compile(f"{_ASIDE}|{_TAG}|{_ENTITY}", re.DOTALL),
    "placeholders": re.compile(_PLACEHOLDER),
    "markdown": re.compile(f"{_MARKDOWN}|{_ASIDE}|{_TAG}|{_ENTITY}", re.DOTALL),
    "subtitles": re.compile(rf"\{{\\[^{{}}]*+\}}|{_ASIDE}|{_TAG}|{_ENTITY}", re.DOTALL),
}
_WEB = ("html", "markdown", "subtitles")
_NAME = re.compile(r"</?([^\s<>\"'/]+)")
_UNTRANSLATED = re.compile(r"\stranslate\s*=\s*[\"']?no\b", re.IGNORECASE)
_XML_ENTITIES = frozenset(("&amp;", "&lt;", "&gt;", "&quot;", "&apos;"))


class Token(NamedTuple):
    """A run of text, or a mark."""

    kind: Kind
    raw: str
    """As it is written in the source."""
    name: str = ""
    """What an opening and a closing mark have in common; of text, what it says."""


def divide_marks(text: str, form: Form) -> Iterator[Token]:
    """Give the tokens of a text, in order; joined, what is `raw` of them is the text.

    >>> [token.kind for token in divide_marks("Un <b>gato</b>.", "html")]
    ['text', 'open', 'text', 'close', 'text']
    """
    done, endless = 0, set[str]()
    while match := _PATTERNS[form].search(text, done):
        if match.start() > done:
            yield _text(text[done : match.start()])
        token = _classify(match, form)
        done = match.end()
        if token.kind == "open" and form in _WEB and is_opaque(token) and token.name not in endless:
            if end := re.compile(rf"</{re.escape(token.name)}\s*>", re.IGNORECASE).search(text, done):
                token, done = Token("single", text[match.start() : end.end()], token.name), end.end()
            else:
                endless.add(token.name)  # not to be looked for again
        yield token
    if done < len(text):
        yield _text(text[done:])


def is_opaque(token: Token) -> bool:
    """Tell whether what is inside an element of HTML is no text to translate."""
    return token.name in OPAQUE or bool(_UNTRANSLATED.search(token.raw))


def is_void(token: Token) -> bool:
    """Tell whether a mark is a tag without text, such as a break, and stands for no words."""
    return token.kind == "single" and bool(token.name) and not is_opaque(token)


def escape(text: str, form: Form) -> str:
    """Write text so that nothing in it reads as a tag or an entity."""
    return html.escape(text, quote=False) if form in ("html", "xml") else text


def _text(text: str) -> Token:
    return Token("text", text, text)


def _classify(match: re.Match[str], form: Form) -> Token:
    raw = match[0]
    if raw.startswith("&") and form != "placeholders":
        return _entity(raw, form)
    if raw.startswith(("<!", "<?")):
        return Token("comment", raw)
    if raw.startswith("<") and (named := _NAME.match(raw)) and "://" not in raw[:9]:
        return _tag(raw, named[1], form)
    if form == "markdown":
        return _markdown(match, raw)
    return Token("comment" if raw.startswith("{\\") else "single", raw)


def _entity(raw: str, form: Form) -> Token:
    """Read an entity as the character it stands for; one that is unknown here is a mark."""
    if form in ("markdown", "subtitles") or (form == "xml" and not (raw.startswith("&#") or raw in _XML_ENTITIES)):
        return Token("single", raw)
    meaning = html.unescape(raw)
    return Token("single", raw) if meaning == raw else Token("text", raw, meaning)


def _tag(raw: str, name: str, form: Form) -> Token:
    name = name if form == "xml" else name.lower()
    if raw.startswith("</"):
        return Token("close", raw, name)
    if raw.endswith("/>") or (form != "xml" and name in VOID):
        return Token("single", raw, name)
    return Token("open", raw, name)


def _markdown(match: re.Match[str], raw: str) -> Token:
    if raw == "[":
        return Token("open", raw, "[")
    if raw.startswith("]"):
        return Token("close", raw, "[")
    if raw[0] not in "*_~":
        return Token("comment" if raw[0] == "\\" else "single", raw)
    text = match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if raw[0] == "_" and before.isalnum() and after.isalnum():  # snake_case
        return _text(raw)
    may_open, may_close = bool(after.strip()), bool(before.strip())
    if may_open and may_close and before.isalnum() != after.isalnum():
        may_open, may_close = after.isalnum(), before.isalnum()
    if not (may_open or may_close):  # a star between spaces
        return _text(raw)
    return Token("open" if may_open and not may_close else "close", raw, raw)
