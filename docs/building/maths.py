"""Equations as MathML, which browsers draw themselves: no script, no font and no network is needed to read them."""

import html
import re

from latex2mathml.converter import convert

#: What pymdownx.arithmatex leaves, in its generic form, of $…$ and $$…$$.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
#: Commands that latex2mathml does not have, and others that mean the same.
SAME = {
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\tfrac": r"\frac",
    r"\dots": r"\ldots",
    r"\arg": r"\operatorname{arg}",
}


def to_mathml(latex: str, *, display: str) -> str:
    """Turn LaTeX into MathML; what was written stays as alternative text.

    >>> to_mathml("e_i", display="inline").removeprefix('<math xmlns="http://www.w3.org/1998/Math/MathML" ')
    'display="inline" alttext="e_i"><mrow><msub><mi>e</mi><mi>i</mi></msub></mrow></math>'
    """
    plain = " ".join(html.unescape(latex).split())
    known = re.sub(r"\\[a-zA-Z]+", lambda found: SAME.get(found[0], found[0]), plain)
    known = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", known)
    known = re.sub(r"\\[Bb]ig+[lr]?\s*(?=\\\|)", "", known)  # it knows no large double bars
    known = re.sub(r"(\\begin\{cases\})\s*\[", r"\1{}[", known)  # else it takes the bracket for an option
    made = convert(known, display=display)
    if "\\" in re.sub(r"<[^>]*>", "", html.unescape(made)):
        raise ValueError(f"An equation has a command that is not known: {plain}")
    return made.replace(">", f' alttext="{html.escape(plain)}">', 1)


def render(page: str) -> str:
    """Replace the equations of a page."""
    page = BLOCK.sub(lambda found: to_mathml(found[1], display="block"), page)
    return INLINE.sub(lambda found: to_mathml(found[1], display="inline"), page)
