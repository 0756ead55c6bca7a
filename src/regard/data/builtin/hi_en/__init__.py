"""Hindi to English: small, transliterated, the verb last."""

from regard.data.builtin.hi_en.grammar import GRAMMAR as GRAMMAR
