"""Sentences to begin with: those of the lectures and of the built-in corpora, for models that know their words."""

from typing import NamedTuple

from regard.data.builtin.stories import PASSAGE
from regard.data.corpora.pair import words
from regard.data.text.special import UNKNOWN
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator


class Example(NamedTuple):
    """A sentence, what it shows, and its translation in the corpus."""

    text: str
    about: str
    reference: str


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "builtin:es-en": (
        Example(
            "Mi hermana compró una casa pequeña en la ciudad",
            "adjective and noun change places",
            "My sister bought a small house in the city",
        ),
        Example("Yo soy de Canadá", "from the lectures", "I am from Canada"),
        Example("¿Me puedes traer un tenedor?", "from the lectures", "Can you bring me a fork?"),
        Example("A Elena le gustan las playas", "many to one", "Elena likes beaches"),
        Example("¿Buscaste al enfermero?", "one to many", "Did you look for the nurse?"),
        Example(
            "¿Por qué comió María la ensalada la semana pasada?",
            "another order of words",
            "Why did Maria eat the salad last week?",
        ),
        Example(
            "Ella durmió en nuestro jardín grande y después descansó en el parque bonito",
            "longer",
            "She slept in our big garden and then rested in the pretty park",
        ),
    ),
    "builtin:hi-en": (
        Example("Ham baajaar gaye the", "from the lectures", "We had gone to the market"),
        Example("Kyaa main kal baag gayii thii?", "one to many", "Had I gone to the garden yesterday?"),
        Example(
            "Main shikshak ke saath nadii laut rahaa huun",
            "another order of words",
            "I am returning to the river with the teacher",
        ),
    ),
}
"""For each built-in corpus: chosen by their gold links, which say what a map of them should show."""

READING = {
    Classifier: (Example("A good book, though too long.", "two minds", ""),),
    LanguageModel: (Example("The cat sat on the", "short", ""),),
}
LABELED = (
    Example("The film was not dull but pleasant.", "the order decides", ""),
    Example("I thought the food would be good, and it was bad.", "another opinion first", ""),
    Example("Nobody calls the waiter rude.", "denied", ""),
    Example("My aunt was thinking of the violin and the choir.", "by its topic", ""),
)
"""In the manner of builtin:opinions and builtin:topics, for classifiers that know few words."""
_ABOUT = "a sandwich or a restaurant: what are it and their?"


def examples_for(thing: object) -> tuple[Example, ...]:
    """Give texts that a model knows the words of: for a translator those of its corpus, for others English ones."""
    match thing:
        case Translator():
            return _examples_of_translator(thing)
        case Classifier() | LanguageModel() if _knows_english(thing):
            spaced = isinstance(thing, LanguageModel) and thing.tokenizer.kind == "space"
            passage = " ".join(words(PASSAGE)) if spaced else PASSAGE  # its words stand between spaces
            return (*READING[type(thing)], Example(passage, _ABOUT, ""))
        case Classifier():
            return tuple(item for item in LABELED if UNKNOWN not in thing.tokenizer.encode(item.text).ids)
        case _:
            return ()


def _knows_english(thing: Classifier | LanguageModel) -> bool:
    """Return whether three quarters of the passage's tokens are known, be they words, parts of words, or letters."""
    encoded = thing.tokenizer.encode(" ".join(words(PASSAGE)))
    ids = encoded if isinstance(encoded, list) else encoded.ids
    return ids.count(UNKNOWN) <= len(ids) / 4


def _examples_of_translator(translator: Translator) -> tuple[Example, ...]:
    """Give the sentences of the corpus whose words the translator knows best; none where it knows few."""
    shares = {name: _known(translator, examples) for name, examples in EXAMPLES.items()}
    best = max(shares, key=lambda name: shares[name])
    return EXAMPLES[best] if shares[best] > 0.5 else ()


def _known(translator: Translator, examples: tuple[Example, ...]) -> float:
    """Give the share of tokens that are words: a tokenizer of another language knows none, or cuts them to pieces."""
    encoded = translator.tokenizers.source.encode_batch([item.text for item in examples])
    tokens = [token for index in range(len(encoded)) for token in encoded[index].tolist()]
    known = sum(len(words(item.text)) for item in examples) - tokens.count(UNKNOWN)
    return known / max(1, len(tokens))
