"""Spanish to English: `derive` a sentence, the lectures' sentences, and `restore` for what users type."""

from regard.data.builtin.es_en.grammar import GRAMMAR as GRAMMAR
