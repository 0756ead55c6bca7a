"""Short parts of sentences and their translations, by word links: what labels, headings and lists are made of."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from regard.data.corpora.pair import Pair, words

LONGEST = 4
"""Words of a part, on either side."""
ARTICLES = frozenset("el la los las un una unos unas".split()), frozenset("the a an".split())

Links = dict[int, list[int]]


def chunk_pairs(
    pairs: Sequence[Pair], links: Sequence[str], *, fewest: int = 3, least: float = 0.4, common: int = 60
) -> list[Pair]:
    """Give parts of sentences that are mostly translated by each other, those with articles without them too.

    A part and its translation are linked at both ends of either, and to nothing beside. None ends in one of the
    `common` most frequent words of its side, most of which ask for another word.

    Reference: Koehn, Och and Marcu (2003), section 2.3, N03-1017.

    >>> pairs = [Pair(source="Vi la sala de espera.", target="I saw the waiting room.")]
    >>> links = ["0-1 1-2 2-4 4-3 5-5"]
    >>> [(pair.source, pair.target) for pair in chunk_pairs(pairs, links, fewest=1, common=0)]
    [('la sala de espera', 'the waiting room'), ('sala de espera', 'waiting room')]
    """
    counts, totals = Counter[tuple[str, str]](), (Counter[str](), Counter[str]())
    frequent = [_most_frequent((getattr(pair, side) for pair in pairs), common) for side in ("source", "target")]
    for pair, line in zip(pairs, links, strict=True):
        for both in _chunks(words(pair.source), words(pair.target), line):
            counts[both] += 1
            for total, chunk in zip(totals, both, strict=True):
                total[chunk] += 1
    kept = dict[tuple[str, str], None]()
    for both, count in counts.items():
        often = all(count >= least * total[chunk] for total, chunk in zip(totals, both, strict=True))
        ends = any(chunk.split()[-1].lower() in own for chunk, own in zip(both, frequent, strict=True))
        if count >= fewest and often and not ends:
            kept[both] = None
            first = [chunk.split()[0] for chunk in both]
            if all(word in known for word, known in zip(first, ARTICLES, strict=True)):
                kept[both[0].partition(" ")[2], both[1].partition(" ")[2]] = None
    return [Pair(source=source, target=target) for source, target in kept if source and target]


def label_forms(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Give parts as they are, and as labels are written: with a capital, without a mark."""
    for pair in pairs:
        yield pair
        yield Pair(source=pair.source[:1].upper() + pair.source[1:], target=pair.target[:1].upper() + pair.target[1:])


def _chunks(source: Sequence[str], target: Sequence[str], line: str) -> Iterator[tuple[str, str]]:
    """Give the parts of two words or more, on one side at least, that do not begin a sentence."""
    forward, backward = _links(line)
    starts = [next((index for index, word in enumerate(side) if word.isalpha()), 0) for side in (source, target)]
    for begin in range(starts[0] + 1, len(source)):
        for end in range(begin, min(begin + LONGEST, len(source))):
            if not source[end].isalpha():
                break
            linked = [index for word in range(begin, end + 1) for index in forward[word]]
            if not linked or not forward[begin] or not forward[end]:
                continue
            low, high = min(linked), max(linked)
            inside = all(begin <= index <= end for word in range(low, high + 1) for index in backward[word])
            sides = source[begin : end + 1], target[low : high + 1]
            fits = low > starts[1] and len(sides[1]) <= LONGEST and len(sides[0]) + len(sides[1]) > 2
            if inside and fits and all(word.isalpha() for word in sides[1]):
                yield " ".join(sides[0]), " ".join(sides[1])


def _links(line: str) -> tuple[Links, Links]:
    """Read which words of either side each word is linked to."""
    forward, backward = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for link in line.split():
        source, target = map(int, link.split("-"))
        forward[source].append(target)
        backward[target].append(source)
    return forward, backward


def _most_frequent(texts: Iterable[str], count: int) -> set[str]:
    counts = Counter(word.lower() for text in texts for word in words(text) if word.isalpha())
    return {word for word, _ in counts.most_common(count)}
