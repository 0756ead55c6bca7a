"""Tags carried through translation: are any lost or unbalanced, is the text the same, are they on the right word?

    OMP_NUM_THREADS=1 python benchmarks/markup.py --model runs/a [--sentences 10000] [--pairs 500]

Sentences of the built-in corpus, es-en, with random tags inside each other, are translated greedily with and without
them. Then each word in turn has a tag, in test sentences whose output is the reference, so that gold links say where
it belongs: it is right where it is around a word linked to its own, and around none that is surely linked to others.
"""

import argparse
import random
import re
from html.parser import HTMLParser

import torch

import regard
from regard.data.builtin import corpus
from regard.data.corpora.pair import Pair, words
from regard.decoding.search import Search
from regard.tasks.translation.influence import influences
from regard.tasks.translation.markup.insertion import Links, Run
from regard.tasks.translation.model import Translator

AT_ONCE = 200
GREEDY = Search(beam=1)
NAMES = ("b", "i", "a", "span")


def add_tags(text: str, generator: random.Random) -> str:
    """Put random tags around words, each with a number of its own."""
    parts = text.split()

    def write(start: int, end: int, depth: int) -> str:
        written = []
        while start < end:
            kind = generator.random()
            if kind < 0.25 and depth < 3:
                last, name = generator.randint(start + 1, end), generator.choice(NAMES)
                inner = write(start, last, depth + 1)
                written.append(f'<{name} id="{generator.random():.9f}">{inner}</{name}>')
                start = last
            elif kind < 0.3:
                written.append(f'<br id="{generator.random():.9f}"/>')
            else:
                written.append(parts[start])
                start += 1
        return " ".join(written)

    return write(0, len(parts), 0)


class Balance(HTMLParser):
    """Knows whether every tag closes the last that is open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.balanced = True
        self.feed(text)
        self.close()
        self.balanced = self.balanced and not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Open a tag."""
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        if tag == "br":
            return
        self.balanced = self.balanced and bool(self.open) and self.open.pop() == tag


def tags(text: str) -> list[str]:
    """List the tags of a text in a fixed order."""
    return sorted(re.findall(r"<[^<>]*>", text))


def measure_tags(translator: Translator, sentences: list[str], generator: random.Random) -> dict[str, int]:
    """Count what should not be."""
    counts = {"sentences": 0, "tags lost or doubled": 0, "unbalanced": 0, "text differs": 0}
    for start in range(0, len(sentences), AT_ONCE):
        plain = sentences[start : start + AT_ONCE]
        marked = [add_tags(text, generator) for text in plain]
        outputs = translator.translate(marked, GREEDY, markup="html")
        for text, output, bare in zip(marked, outputs, translator.translate(plain, GREEDY), strict=True):
            counts["sentences"] += 1
            counts["tags lost or doubled"] += tags(text) != tags(output)
            counts["unbalanced"] += not Balance(output).balanced
            counts["text differs"] += re.sub(r"<[^<>]*>|\s", "", output) != re.sub(r"\s", "", bare)
    return counts


def measure_words(translator: Translator, pairs: list[Pair]) -> tuple[int, int, int]:
    """Count sentences whose output is the reference, their words with sure links, and those whose tag is right."""
    outputs = [item[0] for item in translator.search([pair.source for pair in pairs], weights=True)]
    chosen = [(pair, output) for pair, output in zip(pairs, outputs, strict=True) if output.text == pair.target]
    total = right = 0
    for (pair, _), influence in zip(chosen, influences(translator, [item for _, item in chosen]), strict=True):
        assert influence is not None
        links = Links(influence)
        for word, written in enumerate(words(pair.source)):
            sure = {link.target for link in pair.links if link.source == word and link.sure}
            if not sure or not written[0].isalpha():
                continue
            run = links.best_run(Run(word, word + 1), Run(0, links.count))
            inside = set() if run is None else set(range(*run))
            others = {link.target for link in pair.links if link.source != word and link.sure} - sure
            total += 1
            right += bool(inside & {link.target for link in pair.links if link.source == word}) and not inside & others
    return len(chosen), total, right


def main() -> None:
    """Measure a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--sentences", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    translator = regard.load(options.model)
    assert isinstance(translator, Translator)
    print(translator)
    same, total, right = measure_words(translator, list(corpus("builtin:es-en", split="test", size=options.pairs)))
    print(f"right: {right:,} of {total:,} words, {right / max(1, total):.1%}, in {same} outputs that are the reference")
    sentences = [pair.source for pair in corpus("builtin:es-en", split="train", size=options.sentences)]
    for name, count in measure_tags(translator, sentences, random.Random(5)).items():
        print(f"{name}: {count:,}", flush=True)


if __name__ == "__main__":
    main()
