"""Spanish to English: `derive` a sentence, and the lectures' sentences."""

from regard.data.builtin.es_en.grammar import GRAMMAR as GRAMMAR
