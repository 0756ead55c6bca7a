"""A trained translator, from a folder to text."""

import re

import numpy as np
import pytest
import torch

import regard
from regard.data.corpora.pair import words
from regard.data.text.special import END, START, UNKNOWN
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.data.untrained import Untrained
from regard.decoding.search import Sampling, Search, decode
from regard.errors import ArgumentError, ArgumentTypeError, DataError
from regard.tasks.model_folder import digest_model
from regard.tasks.translation.model import Translator, load
from regard.tasks.translation.result import word_numbers
from regard.tasks.translation.search_batches import plan_by_cells
from regard.tasks.translation.unknown_words import read_dictionary
from unit.tasks.lecture_run import train_lectures
from unit.tasks.translators import BYTES, LEARNED, LOCATION, RECURRENT, WORDS, make_folder, pairs, tokenizers

GREEDY = Search(beam=1, max_length=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("words"))


@pytest.fixture
def translator(folder):
    return regard.load(folder)


def test_sentences_are_translated_in_their_order(translator):
    texts = [pair.source for pair in pairs()[:12]]
    search = Search(beam=2, max_length=5)
    together = translator.translate(texts, search)
    assert len(set(together)) > 1
    assert together == [translator.translate([text], search)[0] for text in texts]
    found = translator.search(texts, search, batch_tokens=60)
    assert [best[0].text for best in found] == together
    assert translator.translate([]) == []


def test_a_sentence_of_nothing_stays_so(translator):
    texts = ["", "   ", "\t\u2028\u3000", pairs()[0].source, ""]
    found = translator.search(texts, Search(beam=2, n_best=2, max_length=5), weights=True)
    assert [best[0].text == "" for best in found] == [True, True, True, False, True]
    empty = found[1][0]
    assert (empty.score, empty.log_probability, empty.target_tokens, empty.source_tokens) == (0.0, 0.0, (), ())
    assert (empty.links, empty.weights, empty.source_words, empty.target_words) == ((), None, (), ())


def test_a_translation_tells_what_is_known_of_it(translator):
    text = "El libro está en la mesa."
    best, second = translator.search([text], Search(n_best=2, max_length=8), weights=True)[0]
    assert best.score >= second.score
    known = translator.tokenizers.source.backend.get_vocab()
    assert best.source_tokens == (*(word if word in known else "<unk>" for word in words(text)), "</s>")
    assert best.target_tokens[-1] == "</s>" or not best.finished
    assert best.log_probability == pytest.approx(sum(best.log_probabilities))
    assert best.weights.shape == (1, 1, len(best.target_tokens), len(best.source_tokens))
    assert best.alignment_weights.shape == best.weights.shape[2:]
    assert len(best.target_words) == len([token for token in best.target_tokens if token != "</s>"])
    assert {link.target for link in best.links} == set(best.target_words)
    assert repr(best) == f"Translation({text!r} → {best.text!r}, score {best.score:.3f})"
    best.weights.requires_grad_().sum().backward()  # an ordinary tensor
    assert translator.search([text], GREEDY)[0][0].weights is None


@pytest.mark.parametrize("division", ["whitespace", "marks"])
@pytest.mark.parametrize("config", [WORDS, BYTES])
def test_a_translation_links_the_words_that_align_links(tmp_path, config, division):
    model = load(make_folder(tmp_path, config=config))
    given = [(pair.source, pair.target) for pair in pairs()[:20]]
    forced = model.force([source for source, _ in given], [target for _, target in given], weights=True)
    aligned = model.align(given, words=division)
    assert any("," in source or "¿" in source for source, _ in given)
    assert [one.links_by(division) for one in forced] == [one.links for one in aligned]
    assert any(one.links_by("whitespace") != one.links_by("marks") for one in forced)


def test_weights_are_those_of_the_search(translator):
    ids = torch.tensor([[*translator.tokenizers.source.encode("el libro es azul").ids, END]])
    search = Search(beam=3, n_best=2, max_length=6)
    found = decode(translator.model, ids, search=search, start=START, end=END, weights=True)[0]
    again = translator.search(["el libro es azul"], search, weights=True)[0]
    assert [one.tokens for one in found] == [one.hypothesis.tokens for one in again]
    for one, other in zip(found, again, strict=True):
        torch.testing.assert_close(other.weights, one.weights)


def test_what_is_forced_is_reported(translator):
    pair = pairs()[0]
    plain, empty = translator.force([pair.source, ""], [pair.target, ""])
    assert (plain.text, plain.weights) == (pair.target, None)
    assert len(plain.log_probabilities) == len(words(pair.target)) + 1
    assert len(empty.log_probabilities) == 1
    with pytest.raises(ArgumentError, match=r"`targets` must have one entry for each of the 2 sources; received 1."):
        translator.force(["a", "b"], ["c"])


def test_outputs_begin_as_they_must(translator):
    texts = [pair.source for pair in pairs()[:3]]
    search = Search(beam=3, n_best=2, max_length=6)
    found = translator.search([*texts, ""], search, prefixes=["the house", "", "a", "the"], weights=True)
    assert all(one.text.startswith("the house") for one in found[0])
    assert [one.text for one in found[1]] == [one.text for one in translator.search(texts, search)[1]]
    assert found[2][0].target_tokens[0] == "a"
    assert found[0][0].weights.shape[2] == len(found[0][0].target_tokens)
    assert found[3][0].text == ""
    assert translator.translate(texts[:1], search, prefixes=["the house"]) == [found[0][0].text]


def test_an_output_begins_with_the_capital_of_a_text_that_was_read_without(folder):
    search = Search(beam=1, max_length=5)
    translator, exact = regard.load(folder), regard.load(folder, respell=False)
    [[found]] = translator.search(["Libro"], search)
    [[lower]] = exact.search(["libro"], search)
    assert found.read.words == {"Libro": "libro"}
    assert found.target_tokens == lower.target_tokens
    assert lower.text[0].islower()
    assert found.text == lower.text[0].upper() + lower.text[1:]
    assert translator.translate(["Libro"], search, prefixes=["the house"])[0].startswith("the house")


def test_prefixes_that_cannot_begin_are_refused(tmp_path, translator):
    with pytest.raises(
        ArgumentError, match=r'`prefixes` must have one entry for each of the 2 texts; received 1. Give ""'
    ):
        translator.translate(["a", "b"], prefixes=["c"])
    with pytest.raises(ArgumentError, match=r"`prefixes` must be a list of sentences; received one string."):
        translator.translate(["a"], prefixes="c")
    with pytest.raises(
        ArgumentError, match=r'`prefixes` must be text that the model can output; received "Zoroaster" at index 0'
    ):
        translator.translate(["a"], prefixes=["Zoroaster"])
    with pytest.raises(
        ArgumentError, match=r"`prefixes` must have fewer tokens than the longest output, 2; received 2 at"
    ):
        translator.translate(["a"], Search(max_length=2), prefixes=["the house"])
    learned = load(make_folder(tmp_path, LEARNED))
    assert len(learned.search(["el libro"], Search(beam=1), prefixes=["the " * 29])[0][0].target_tokens) == 30
    assert len(learned.search(["el libro"], Search(beam=1), prefixes=["the " * 10])[0][0].target_tokens) <= 30
    with pytest.raises(
        ArgumentError, match=r"fewer tokens than the longest output, 30; received 30 at index 0. Shorten"
    ):
        learned.translate(["a"], prefixes=["the " * 30])


def test_weights_are_found_in_batches_of_padded_cells():
    source, target = np.array([100, 2, 2, 90, 2]), np.array([2, 100, 2, 2, 95])
    plan = list(plan_by_cells(source, target, cells=1000))
    assert sorted(np.concatenate(plan).tolist()) == [0, 1, 2, 3, 4]
    assert all(len(batch) * source[batch].max() * target[batch].max() <= 1000 for batch in plan)
    assert [batch.tolist() for batch in plan_by_cells(source, target, cells=5)] == [[2], [3], [4], [0], [1]]


def test_wrong_texts_are_refused(translator, unchecked):
    with pytest.raises(ArgumentError, match=re.escape('received one string. Write ["hola"].')):
        translator.translate("hola")
    with pytest.raises(ArgumentTypeError, match=r"`texts` must be strings; received int at index 1."):
        translator.translate(["a", 3])
    with pytest.raises(
        ArgumentError, match=r"`texts` must be Unicode; received half a surrogate pair at index 0, character"
    ):
        translator.translate(["a\ud800"])


def test_sampling_follows_its_seed(translator):
    text = pairs()[0].source
    drawn = [
        translator.search([text], Search(n_best=3, max_length=6, sampling=Sampling(seed=seed)))[0] for seed in (1, 1, 2)
    ]
    texts = [[one.text for one in outputs] for outputs in drawn]
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0]) == 3


def test_it_moves_and_says_what_it_is(translator):
    assert translator.device == torch.device("cpu")
    assert translator.to("cpu") is translator
    size = translator.tokenizers.source.size
    assert re.fullmatch(
        rf"Translator\(recurrent, [\d,]+ parameters, word tokens, {size:,} → {size:,}, on cpu\)", repr(translator)
    )


@pytest.fixture(scope="module")
def unknowing(tmp_path_factory):
    """A model that can say nothing but `<unk>` and the end."""
    return make_folder(tmp_path_factory.mktemp("unknowing"), favor=[UNKNOWN, END])


def test_unknown_words_are_taken_from_the_source(unknowing):
    text = "Zaratustra habla a Babieca."
    search = Search(beam=1, min_length=3, max_length=4)
    best = load(unknowing).search([text], search, weights=True)[0][0]
    assert "<unk>" in best.target_tokens
    looked = best.alignment_weights[:, :-1].argmax(-1).tolist()
    expected = [words(text)[place] for place, token in zip(looked, best.target_tokens, strict=True) if token == "<unk>"]
    assert words(best.text) == expected
    assert load(unknowing).translate([text], search) == [best.text]  # weights or not
    assert load(unknowing, unknown="keep").translate([text], search) == [" ".join(["<unk>"] * len(expected))]
    dictionary = {word: f"the {word}" for word in words(text)}
    replaced = load(unknowing, dictionary=dictionary).search([text], search)[0][0]
    assert replaced.text == " ".join(f"the {word}" for word in expected)


def test_a_model_that_cannot_look_keeps_its_unknown_words(tmp_path):
    from dataclasses import replace

    from regard.tasks.translation.presets import preset

    spec = replace(preset("fixed"), embedding_size=8, hidden_size=8)
    fixed = load(make_folder(tmp_path, spec, favor=[UNKNOWN]))
    best = fixed.search(["hola"], Search(beam=1, max_length=2), weights=True)[0][0]
    assert (best.text, best.weights, best.alignment_weights, best.links) == ("<unk> <unk>", None, None, ())


def test_a_dictionary_is_tab_separated(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("Haus\thouse\nHund\ta  dog\tnoun\n\nHaus\thome\n", encoding="utf-8")
    assert read_dictionary(path) == {"Haus": "house", "Hund": "a dog"}
    path.write_text("Haus house\n")
    with pytest.raises(DataError, match=r'line 1 must be a word, a tab and its translation; received "Haus house".'):
        read_dictionary(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"must have a word, a tab and its translation in a line; received none\."):
        read_dictionary(path)
    path.write_bytes(b"a\tb\nM\xfcll\tx\n")
    with pytest.raises(DataError, match=r"line 2 must be UTF-8"):
        read_dictionary(path)


def test_long_texts_are_cut_with_a_warning(folder):
    short = load(folder, max_source_length=5)
    long, text = "el libro " * 5000, "el libro rojo ."
    with pytest.warns(UserWarning, match=r"1 of 2 texts, the first at index 1, had more than 5 tokens, which is how"):
        found = short.translate([text, long], GREEDY)
    assert found[1] == short.translate(["el libro el libro"], GREEDY)[0]
    best = short.search([long], GREEDY, weights=True)[0][0]
    assert best.cut == 9996
    assert best.source_tokens == ("el", "libro", "el", "libro", "</s>")
    assert len(best.source_words) == 4
    assert best.weights.shape[-1] == 5


@pytest.mark.parametrize(("spec", "reach", "search"), [(LOCATION, 128, GREEDY), (LEARNED, 30, Search(beam=2))])
def test_models_with_a_longest_length_never_pass_it(tmp_path, spec, reach, search):
    translator = load(make_folder(tmp_path, spec))
    assert translator.reach.source == reach
    texts = ["el libro " * 500, "el libro .", ""]
    best = [one[0] for one in translator.search(texts, search)]
    assert [one.cut for one in best] == [1000 - reach + 1, 0, 0]
    assert len(best[0].target_tokens) == (30 if spec is LEARNED else 8)
    if spec is LEARNED:
        with_more = translator.search(["el libro ."], Search(beam=1, max_length=99))[0][0]
        assert len(with_more.target_tokens) <= 30


ODD = [
    "\x00",
    "שלום עולם",
    "🙂🙃",
    "ﷺ 漢字 ꙮ",
    "a\u2028b\x85c\x0cd",
    "\u0301\u0301",
    "\ufffd",
    "</s> <unk> <pad>",
    "\u200b",
    "▁",
]


@pytest.mark.parametrize("config", [WORDS, BYTES, TokenizerConfig(kind="bpe", vocabulary_size=400)])
def test_any_text_has_a_translation_on_one_line(tmp_path, config):
    translator = load(make_folder(tmp_path, RECURRENT, config))
    found = translator.search(ODD, Search(beam=2, max_length=30), weights=True)
    for one in (outputs[0] for outputs in found):
        assert not set("\n\r\t") & set(one.text)
        said = [token for token in one.hypothesis.tokens if token != END]
        assert len(one.target_words) == len(said)
        assert max(one.target_words, default=0) <= max(0, len(words(one.text)) - 1)
        assert all(link.target < len(words(one.text)) for link in one.links)


def test_bytes_that_break_lines_become_spaces(tmp_path):
    newline = tokenizers(BYTES).target.encode("x").ids[0] - ord("x") + ord("\n")
    translator = load(make_folder(tmp_path, RECURRENT, BYTES, favor=[newline]))
    best = translator.search(["hola"], Search(beam=1, max_length=3))[0][0]
    assert best.hypothesis.tokens == (newline,) * 3
    assert best.text.strip(" ") == ""


def test_tokens_are_numbered_by_word_however_they_are_divided():
    bpe = tokenizers(TokenizerConfig(kind="bpe", vocabulary_size=400)).target
    text = "the house, é"
    usual = bpe.encode(text)
    assert word_numbers(bpe, usual.ids, text) == tuple(usual.words)
    spelled = [number for word in ("▁t", "h", "e", "▁h", "ouse") for number in bpe.encode(word.strip("▁")).ids[-1:]]
    assert len(word_numbers(bpe, spelled, bpe.decode(spelled))) == len(spelled)
    byte = tokenizers(BYTES).target
    assert word_numbers(byte, byte.encode(text).ids[1:], "he house, é") == (0, 0, *[1] * 6, 2, *[3] * 3)
    word = tokenizers(WORDS).target
    ids = [*word.encode("the").ids, UNKNOWN, *word.encode(".").ids]
    assert word_numbers(word, ids, "the Rhine river.") == (0, 1, 3)
    assert word_numbers(word, ids, "the <unk>.") == (0, 1, 4)


def test_several_models_speak_as_one(tmp_path, folder):
    other = make_folder(tmp_path / "other", seed=1)
    both = load([folder, other])
    assert repr(both).startswith("Translator(recurrent + recurrent, ")
    text = pairs()[0].source
    found = both.force([text], ["the house ."])[0]
    apart = [load(one).force([text], ["the house ."])[0] for one in (folder, other)]
    mean = torch.tensor([one.log_probabilities for one in apart]).exp().mean(0).log()
    torch.testing.assert_close(torch.tensor(found.log_probabilities), mean, rtol=1e-4, atol=1e-5)
    assert both.search([text], GREEDY, weights=True)[0][0].weights.size(0) == 2
    bytewise = make_folder(tmp_path / "bytes", RECURRENT, BYTES)
    with pytest.raises(
        DataError, match=r"must share their tokenizer.json; .*bytes has another than .*data.tokenizer = "
    ):
        load([folder, bytewise])
    with pytest.raises(ArgumentError, match=r"`path` must name at least one model folder; received an empty list."):
        load([])


def test_settings_of_a_translator_are_checked(folder, unchecked):
    with pytest.raises(ArgumentError, match=r'`unknown` must be replace or keep; received "drop".'):
        load(folder, unknown="drop")
    with pytest.raises(ArgumentError, match=r"`max_source_length` must be at least 2; received 1."):
        load(folder, max_source_length=1)
    with pytest.raises(ArgumentError, match=r"`max_source_length` must be at least 2; received 0."):
        load(folder).search(["La casa"], max_source_length=0)
    with pytest.raises(
        ArgumentError, match=r"`device` must be cpu, auto, or cuda where torch sees a GPU; received toas"
    ):
        load(folder, device="toaster")


def test_what_is_no_model_is_told(tmp_path, folder):
    with pytest.raises(DataError, match=r"`path` must be a model folder or a run folder; .*not there. Check the path."):
        load(tmp_path / "nowhere" / "a")
    (tmp_path / "bahdanau").mkdir()
    with pytest.raises(DataError, match=r"which is not there. Did you mean bahdanau\?"):
        load(tmp_path / "bahdano")
    with pytest.raises(DataError, match=r"a file. Name the folder it is in: "):
        load(folder / "config.json")
    with pytest.raises(DataError, match=r"a folder without config.json. `regard train --out` makes one that has it."):
        load(tmp_path)
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.toml").touch()
    with pytest.raises(DataError, match=r"received .*run, a run that has only begun and has no model yet: the first"):
        load(run)
    (run / "checkpoints" / "step-00001500").mkdir(parents=True)
    with pytest.raises(
        DataError, match=r"a run that has come to step 1,500 and has no model yet: .*regard train --out "
    ):
        load(run)
    make_folder(run / "model")
    assert isinstance(load(run), Translator)
    path = run / "model" / "config.json"
    path.write_text(path.read_text().replace('"version": "', '"vintage": 1, "version": "9.'))
    with pytest.raises(DataError, match=r"vintage: unknown key.* It was written by regard 9\..*; this is "):
        load(run)
    (run / "model" / "tokenizer.json").unlink()
    path.write_text((folder / "config.json").read_text())
    with pytest.raises(DataError, match=r"must hold a tokenizer.json; received a folder without."):
        load(run)


def test_a_token_of_the_other_side_is_unknown_unless_both_sides_share_their_vectors(tmp_path):
    untied = load(train_lectures(tmp_path / "untied", "train.steps=2", "train.validate_every=2"))
    tied = load(train_lectures(tmp_path / "tied", "train.steps=2", "train.validate_every=2", "model.tie=embeddings"))
    for translator in (untied, tied):
        assert translator.read(["Canada"]) == [("Canadá", {"Canada": "Canadá"})]
        translator.respells = False
    assert untied.search(["Yo soy de Canada"])[0][0].source_tokens[3] == "⟨Canada⟩"
    assert tied.search(["Yo soy de Canada"])[0][0].source_tokens[3] == "Canada"
    forced = untied.force(["Yo soy"], ["Yo am"])[0]
    assert forced.target_tokens == ("<unk>", "am", "</s>")


def test_what_is_untrained_decides_the_output(tmp_path):
    folder = make_folder(tmp_path)
    before = digest_model(folder)
    Untrained(source=frozenset({9})).save(folder)
    assert digest_model(folder) != before
    assert load(folder).tokenizers.source.untrained == {9}
    assert load(folder).tokenizers.target.untrained == frozenset()


def test_models_that_translate_together_lack_what_all_lack(tmp_path):
    folders = [make_folder(tmp_path / str(number), seed=number) for number in range(2)]
    Untrained(source=frozenset({9, 10})).save(folders[0])
    assert load(folders).tokenizers.source.untrained == frozenset()  # the other has learned them all
    Untrained(source=frozenset({10, 11})).save(folders[1])
    assert load(folders).tokenizers.source.untrained == {10}
