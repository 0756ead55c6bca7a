from collections.abc import Callable

import pytest

from regard.data.builtin import CORPORA, Split, corpus
from regard.data.builtin.sampling import normalize
from regard.data.corpora.pair import Pair

Draw = Callable[..., list[Pair]]

SENTENCES = {
    "builtin:es-en": [
        ("Yo soy de Canadá", "I am from Canada", "0-0 1-1 2-2 3-3"),
        ("¿Me puedes traer un tenedor?", "Can you bring me a fork?", "0?6 1-3 2-0 2?1 3-2 4-4 5-5 6-6"),
    ],
    "builtin:hi-en": [("Ham baajaar gaye the", "We had gone to the market", "0-0 1?3 1?4 1-5 2-2 3-1")],
}


@pytest.mark.parametrize("name", CORPORA)
def test_the_lectures_sentences_are_derived_with_their_alignment(name: str) -> None:
    derived = [(pair.source, pair.target, " ".join(map(str, pair.links))) for pair in corpus(name, split="lectures")]
    assert derived == SENTENCES[name]
    assert corpus(name, split="lectures", size=1, seed=9)[0].source == SENTENCES[name][0][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_no_other_split_has_them_nor_their_translation(name: str, split: Split, draw: Draw) -> None:
    """Short sentences of many seeds, where they would be found if they were not held out."""
    sources = {normalize(source) for source, _, _ in SENTENCES[name]}
    targets = {normalize(target) for _, target, _ in SENTENCES[name]}
    for seed in range(2):
        for pair in draw(name=name, split=split, size=2000 if split == "train" else 300, seed=seed, max_words=6):
            assert normalize(pair.source) not in sources
            assert normalize(pair.target) not in targets


def test_what_they_are_made_of_is_in_training(draw: Draw) -> None:
    """All words, and sentences that differ in one of them: the model can know how to translate them."""
    pairs = [
        pair
        for seed in range(4)
        for pair in draw(name="builtin:es-en", split="train", size=2000, seed=seed, max_words=6)
    ]
    sources = [normalize(pair.source) for pair in pairs]
    seen = {word for source in sources for word in source.split()}
    assert {word for source, _, _ in SENTENCES["builtin:es-en"] for word in normalize(source).split()} <= seen
    assert any(source.startswith("yo soy de") for source in sources)
    assert any(source.endswith("de canada") for source in sources)
    assert any(source.startswith("me puedes traer") for source in sources)
    assert any(source.endswith("un tenedor") for source in sources)
