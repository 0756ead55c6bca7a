"""How translations are compared with references: what a word is, and whether case counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from regard.data.corpora.pair import words

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Name: TypeAlias = Literal["BLEU", "chrF", "TER"]
NAMES: tuple[Name, ...] = ("BLEU", "chrF", "TER")
Tokenize: TypeAlias = Literal["13a", "none", "words", "intl", "char", "zh"]
ChosenTokenize: TypeAlias = Literal["auto", "13a", "none", "words", "intl", "char", "zh"]
ChosenCase: TypeAlias = Literal["auto", "mixed", "lower"]


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How translations are compared with references."""

    tokenize: Tokenize = "13a"
    """What BLEU's words are, by sacrebleu's names: 13a for plain text, none for text that is tokenized already and is
    divided at spaces; or words, our own division."""
    lowercase: bool = False
    """Without case, as for models that output lower case alone."""

    def prepare(self, texts: Sequence[str]) -> list[str]:
        """Divide texts where sacrebleu does not.

        >>> Scoring(tokenize="words").prepare(["It's me."])
        ["It 's me ."]
        """
        return [" ".join(words(text)) for text in texts] if self.tokenize == "words" else list(texts)

    def metric(self, name: Name) -> "Metric":
        """Make a metric of sacrebleu. It logs no warning of tokenized text, which `suited_scoring` sees to."""
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
        from sacrebleu.metrics.ter import TER

        match name:
            case "BLEU":
                tokenize = "none" if self.tokenize == "words" else self.tokenize
                return BLEU(lowercase=self.lowercase, tokenize=tokenize, force=True)
            case "chrF":
                return CHRF(lowercase=self.lowercase)
            case "TER":
                return TER(case_sensitive=not self.lowercase)

    def sign(self, name: Name, metric: "Metric") -> str:
        """Give the signature of a metric that has scored, as sacrebleu writes it; our own words are named in it."""
        signature = metric.get_signature()
        if self.tokenize == "words" and name != "chrF":
            signature.update("tok", "regard-words")
        return str(signature)


PLAIN = Scoring()
"""sacrebleu's own: plain text, with case."""


def suited_scoring(
    references: Sequence[str], *, tokenize: ChosenTokenize = "auto", case: ChosenCase = "auto", lower: bool = False
) -> Scoring:
    """Give the scoring that is chosen, and where it is left open, what suits the references and the model.

    References that are tokenized are taken as they are, as published figures on such text are. Where the model outputs
    no upper case (`lower`), case does not count.

    >>> suited_scoring(["a dog runs ."], lower=True)
    Scoring(tokenize='none', lowercase=True)
    """
    suited: Tokenize = "none" if is_tokenized(references) else "13a"
    return Scoring(
        tokenize=suited if tokenize == "auto" else tokenize, lowercase=lower if case == "auto" else case == "lower"
    )


def is_tokenized(texts: Sequence[str]) -> bool:
    """Return whether more than half of the texts end in a space and a period, as tokenized sentences do.

    >>> is_tokenized(["A dog runs .", "It barks ."]), is_tokenized(["A dog runs."])
    (True, False)
    """
    return 2 * sum(text.endswith(" .") for text in texts) > len(texts)


def has_upper_case(texts: Sequence[str]) -> bool:
    """Return whether any text has an upper-case letter.

    >>> has_upper_case(["ein hund"]), has_upper_case(["ein Hund"])
    (False, True)
    """
    return any(text != text.lower() for text in texts)
