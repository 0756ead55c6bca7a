"""Signatures: different models and tokens never share one."""

from dataclasses import replace

from regard.config.language import NGramSpec
from regard.tasks.language.settings import LANGUAGE_PRESETS, compose_language
from regard.tasks.language.signature import describe_language, describe_spec


def test_a_signature_names_the_run():
    config = compose_language(
        {"data": {"text": "texts/a.txt"}, "tokenizer": {"kind": "character"}}, name="gru-attention"
    )
    assert describe_language(config).startswith(
        "task:language|data:a.txt|tokens:character|vocabulary:20000|model:recurrent-gru|layers:2|size:256|span:64|seed:1|"
    )


def test_no_two_models_share_one():
    found = [describe_spec(make()) for make in LANGUAGE_PRESETS.values()]
    found += [describe_spec(NGramSpec(order=order)) for order in (1, 2, 3)]
    assert len(set(found)) == len(LANGUAGE_PRESETS) + 3


def test_no_two_vocabularies_share_one():
    config = compose_language({})
    changes = [{"kind": "byte"}, {"kind": "unigram"}, {"vocabulary_size": 300}, {"lowercase": True}, {}]
    found = [describe_language(replace(config, tokenizer=replace(config.tokenizer, **one))) for one in changes]
    assert len(set(found)) == len(changes)
