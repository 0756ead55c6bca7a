"""Training language models: every preset learns a pattern, and a run goes on where it stopped."""

import json
import lzma
from dataclasses import replace

import numpy as np
import pytest
import torch

import regard
from regard.data.text.open_character import OpenCharacter
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.decoding.search import Sampling
from regard.errors import ArgumentError, ArgumentTypeError, DataError, Interrupted
from regard.models.language.build import build_network
from regard.models.language.folder import read_language_config
from regard.tasks.language.continuation import continue_tokens
from regard.tasks.language.data import Text, count_tokens, encode_text, find_files, gather_text
from regard.tasks.language.job import LanguageJob
from regard.tasks.language.model import LanguageModel
from regard.tasks.language.settings import LANGUAGE_PRESETS, TextData
from regard.tasks.language.train import encode_corpus, start_network, train_language_model
from regard.tasks.translation.model import load as load_translator
from regard.training.checkpoint import read_tensors
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.job import Carrying, JobOf
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from regard.training.watch import Watchers
from unit.tasks.texts import settings, write_text

#: Which sentence comes is one of four in 13 characters or so: exp(log 4 / 13.5), 1.11, is the least there can be.
WANTED = {"bag": 16.0, "feed-forward": 1.35, "transformer": 1.5}


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path / "a.txt")


def train(config, folder, **settings):
    corpus = gather_text(config.data)
    return train_language_model(config, corpus, Run(folder=RunFolder(folder), command="test", **settings))


@pytest.fixture
def trained(tmp_path, text):
    def trained(name, **chosen):
        train(settings(text, name, **chosen), tmp_path / name)
        return tmp_path / name

    return trained


@pytest.mark.usefixtures("unchecked")  # for speed
@pytest.mark.parametrize("name", LANGUAGE_PRESETS)
def test_every_preset_learns_a_pattern(trained, name):
    folder = trained(name)
    figures = json.loads((folder / "model" / "figures.json").read_text())["figures"]
    assert 1.05 < figures["valid_perplexity"] < WANTED.get(name, 1.25)
    model = regard.load(folder)
    assert isinstance(model, LanguageModel)
    again = model.measure(Text((folder.parent / "a.txt",))).perplexity
    assert 1.05 < again < WANTED.get(name, 1.25)
    assert "character tokens" in repr(model)
    if name not in ("bag", "feed-forward"):
        assert model.generate("the d", max_tokens=8, greedy=True) == "og barks"
    looks = model.next("the ca", 1).attended_to
    assert (looks is not None) == (name == "transformer" or name.endswith("-attention"))
    if looks is not None:
        assert [token for token, _ in looks] == ["</s>", *"the ca"]
        assert sum(weight for _, weight in looks) == pytest.approx(1, abs=1e-3)
    assert "regard generate" in (folder / "model" / "README.md").read_text()
    assert "Continuations" in (folder / "report.html").read_text()


def test_generating(trained):
    model = regard.load(trained("ngram"))
    drawn = [model.generate("the ", max_tokens=30, sampling=Sampling(seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert "".join(model.stream("the ", max_tokens=30, sampling=Sampling(seed=1))) == drawn[0]
    assert len(model.generate(max_tokens=12, sampling=Sampling(top_k=1))) == 12
    assert model.generate("a", max_tokens=40, greedy=True, no_repeat_ngram=2) != model.generate(
        "a", max_tokens=40, greedy=True
    )
    found = model.next("the do", k=3)
    assert (found.tokens[0].text, found.tokens[0].probability > 0.9) == ("g", True)
    every = model.next("the do", k=100)
    assert sum(one.probability for one in every.tokens) + every.never_output == pytest.approx(1)
    assert 0 < every.never_output == found.never_output
    with pytest.raises(ArgumentError, match="`max_tokens` must be at least 1; received 0"):
        model.generate(max_tokens=0)
    with pytest.raises(ArgumentError, match="`k` must be at least 1; received 0"):
        model.next("a", 0)
    with pytest.raises(ArgumentError, match=r"`texts` must be a list of texts; received one string. Write \[\"abc\"\]"):
        model.perplexity("abc")
    with pytest.raises(ArgumentError, match="`tokenizer` must have the model's 22 tokens; received 260"):
        LanguageModel(model.model, TextTokenizer("byte"), model.config)


def test_text_is_written_line_by_line_and_never_half_a_character(trained):
    model = regard.load(trained("bag"))
    spoken = LanguageModel.__new__(LanguageModel)
    spoken.tokenizer = TextTokenizer("byte")
    tokens = spoken.tokenizer.encode("aé\nb€c")
    assert list(spoken._write([], iter(tokens))) == ["a", "é", "\n", "b", "€", "c"]
    assert list(spoken._write(tokens[:3], iter(tokens[3:5]))) == ["\n", "b"]
    assert "".join(spoken._write([], iter(tokens[:2]))) == "a"
    assert model.generate("a\nb", max_tokens=5, sampling=Sampling(seed=1)) == "".join(
        model.stream("a\nb", max_tokens=5, sampling=Sampling(seed=1))
    )


@pytest.mark.parametrize("kind", ["byte", "bpe"])
def test_what_is_said_is_whole_characters_of_known_tokens(tmp_path, kind):
    (tmp_path / "a.txt").write_text("él señor bebe café – 日本\n" * 60, encoding="utf-8")
    config = settings(tmp_path / "a.txt", "ngram")
    config = replace(config, tokenizer=replace(config.tokenizer, kind=kind, vocabulary_size=300))
    train(config, tmp_path / "run")
    model = regard.load(tmp_path / "run")
    likely = model.model.step(torch.tensor([[END]]), model.model.start(1)).log_probabilities[0, -1]
    unseen = list(model.tokenizer.unseen)
    assert len(unseen) > 200
    assert likely[unseen].exp().sum() > 1e-6  # such as would be drawn at a high temperature
    wild = Sampling(temperature=5.0, seed=3)
    tokens = list(continue_tokens(model.model, model.tokenizer, [END], count=300, sampling=wild))
    assert not set(tokens) & set(unseen)
    said = model.generate(max_tokens=300, sampling=wild)
    assert "\N{REPLACEMENT CHARACTER}" not in said
    assert said == model.tokenizer.decode(tokens).rstrip("\N{REPLACEMENT CHARACTER}")
    assert any(one > "\x7f" for one in said)
    assert all(one.text not in map(model.tokenizer.piece, unseen) for one in model.next("é", k=1000).tokens)
    found = model.next("él ", k=1000)
    assert not {one.text for one in found.tokens} & {f"<0x{value:02X}>" for value in range(0x80, 0xC2)}
    assert sum(one.probability for one in found.tokens) + found.never_output == pytest.approx(1)


def test_samples_of_training_are_cut_between_characters(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("to be or not to be\n" * 20 + "日本語日本語日本語日本語\n" * 60, encoding="utf-8")
    config = settings(tmp_path / "a.txt", "lstm", samples=3)
    config = replace(config, tokenizer=replace(config.tokenizer, kind="byte"))
    job, model, data = job_of(config, tmp_path / "run", "lstm")
    prompts = []

    def spy(model, tokenizer, prompt, **more):
        prompts.append(prompt)
        return continue_tokens(model, tokenizer, prompt, **more)

    monkeypatch.setattr("regard.tasks.language.job.continue_tokens", spy)
    for number in range(3):
        job._sample(model, number)
    assert [OpenCharacter(data.tokenizer, prompt).begun for prompt in prompts] == [b""] * 3
    assert {len(prompt) for prompt in prompts} != {22}  # which some were shortened for


def test_a_space_at_the_end_of_a_prompt_is_not_said_twice(text, tmp_path):
    config = settings(text, "ngram")
    config = replace(config, tokenizer=replace(config.tokenizer, kind="bpe", vocabulary_size=300))
    train(config, tmp_path / "bpe")
    model = regard.load(tmp_path / "bpe")
    assert model.generate("the dog", max_tokens=1, greedy=True)[0] == " "
    assert model.generate("the dog ", max_tokens=1, greedy=True)[0] != " "


def test_lines_are_counted_before_training(tmp_path):
    config, told = settings(write_text(tmp_path / "a.txt", lines=5000), "bag"), []
    corpus = gather_text(config.data, count=lambda *one: told.append(one))
    encode_corpus(config, corpus, RunFolder(tmp_path / "run"), group=Group(), count=lambda *one: told.append(one))
    assert told == [(doing, 4096) for doing in ("reading the text", "learning the vocabulary", "encoding the text")]


def test_a_network_begins_with_how_often_tokens_come(text, tmp_path):
    config = settings(text, "transformer")
    data = encode_corpus(config, gather_text(config.data), RunFolder(tmp_path), group=Group())
    model = start_network(config.model, data, seed=1)
    counts = torch.from_numpy(count_tokens(data.train, data.tokenizer.size)) + 1
    torch.testing.assert_close(model.output.bias.exp().detach(), (counts / counts.sum()).float())
    assert counts.sum() == len(data.train) + data.tokenizer.size


@pytest.mark.usefixtures("unchecked")
def test_a_prompt_must_be_text(trained):
    with pytest.raises(ArgumentTypeError, match="`prompt` must be text; received int"):
        regard.load(trained("bag")).next(3)
    with pytest.raises(ArgumentError, match=r"`prompt` must be text in UTF-8; received '\\udcff' in it"):
        regard.load(trained("bag")).generate("a\udcff")


def test_perplexity_states_its_units(trained):
    model = regard.load(trained("ngram"))
    found = model.perplexity(["the dog barks", "a bird sings"])
    assert (found.tokens, found.characters, found.tokenization) == (27, 27, "character of 22")
    assert model.perplexity(["zzzz"]).unknown == 4
    assert found.perplexity < model.perplexity(["gniss drib a ,skrab"]).perplexity


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", ["space", "word", "bpe", "unigram"])
def test_what_tokens_do_not_keep_does_not_count(text, tmp_path, kind):
    config = settings(text, "ngram")
    config = replace(config, tokenizer=replace(config.tokenizer, kind=kind, vocabulary_size=300, lowercase=True))
    train(config, tmp_path / kind)
    model = regard.load(tmp_path / kind)
    plain, wide = (model.perplexity([f"the{gap}dog{gap}barks", "a bird"]) for gap in (" ", "    "))
    assert (plain.altered, wide.altered) == (0, 1)
    assert (wide.characters, wide.bytes) == (plain.characters, plain.bytes) == (21, 21)
    assert wide.bits_per_character == plain.bits_per_character
    assert wide.bits_per_byte == plain.bits_per_byte
    assert model.perplexity(["THE dog barks", "a bird"]).altered == 1


def test_a_language_model_is_no_translator(trained):
    folder = trained("bag")
    with pytest.raises(DataError, match=r"of a translator; .* holds a language model. Use `regard generate` with it."):
        load_translator(folder)
    (folder / "model" / "config.json").write_text("{}")
    with pytest.raises(DataError, match=r"config.json must describe a language model; received another, or none"):
        read_language_config(folder / "model")
    (folder / "model" / "config.json").write_text('{"task": "language", "vocabluary": 3}')
    with pytest.raises(DataError, match="vocabluary: unknown key"):
        read_language_config(folder / "model")


def test_damaged_counts_are_an_error(trained):
    folder = trained("ngram")
    (folder / "model" / "model.safetensors").write_bytes(b"x")
    with pytest.raises(DataError, match="must be a safetensors file; received"):
        regard.load(folder)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["lstm", "gru-attention", "feed-forward", "transformer"])
def test_a_run_that_was_stopped_ends_with_the_same_bits(text, tmp_path, name):
    config = settings(text, name, steps=9, samples=0, accumulate=2, validate_every=3)
    dropped = {"dropout": 0.2} | ({"weight_dropout": 0.2, "word_dropout": 0.1} if name == "lstm" else {})
    config = replace(config, model=replace(config.model, **dropped))
    interruption = Interruption()

    class Stop(Watchers):
        def stepped(self, step):
            if step == 4:  # in the middle of an epoch
                interruption.signal = 15

    corpus = gather_text(config.data)
    run = RunFolder(tmp_path / "run")
    with pytest.raises(Interrupted, match="Stopped after step 4"):
        train_language_model(config, corpus, Run(folder=run, watcher=Stop(), interruption=interruption))
    figures, whole = (train(config, tmp_path / one).figures for one in ("run", "whole"))
    assert figures["steps"] == 9
    assert {key: value for key, value in figures.items() if key != "seconds"} == {
        key: value for key, value in whole.items() if key != "seconds"
    }
    ended, expected = (read_tensors(tmp_path / one / "model" / "model.safetensors") for one in ("run", "whole"))
    assert all(torch.equal(ended[key], expected[key]) for key in expected)
    assert train(config, tmp_path / "run").figures == figures  # finished


def job_of(config, folder, name):
    data = encode_corpus(config, gather_text(config.data), RunFolder(folder), group=Group())
    model = build_network(config.model, vocabulary_size=data.tokenizer.size).eval()
    return LanguageJob(data.train, data.valid, data.tokenizer, config, carries=model.carries), model, data


def test_the_state_goes_from_batch_to_batch(text, tmp_path):
    job, model, data = job_of(settings(text, "lstm"), tmp_path, "lstm")
    assert isinstance(job, JobOf)
    batches = [batch for batch, _ in zip(job.batches, range(3), strict=False)]
    found = sum(float(job.loss(model, batch).total.detach()) for batch in batches)
    tokens = torch.cat([batch.tokens for batch in batches], dim=1)
    target = torch.cat([batch.target for batch in batches], dim=1)
    said = model.output(model(tokens).features).log_softmax(-1)
    assert found == pytest.approx(-float(said.gather(-1, target[..., None]).sum().detach()), rel=1e-4)
    assert data.train[0] == END


def test_a_batch_in_parts_costs_the_same(text, tmp_path):
    job, model, _ = job_of(settings(text, "gru-attention"), tmp_path, "gru-attention")
    other = job_of(settings(text, "gru-attention"), tmp_path, "gru-attention")[0]
    batches = [batch for batch, _ in zip(job.batches, range(3), strict=False)]
    for number, batch in enumerate(batches):
        whole = float(job.loss(model, batch).total.detach())
        parts = batch.halve() if number else [batch]  # as if memory had run out after the first
        assert sum(part.cells for part in parts) == batch.cells
        assert sum(float(other.loss(model, part).total.detach()) for part in parts) == pytest.approx(whole, rel=1e-5)


def test_a_resumed_job_carries_on(text, tmp_path):
    job, model, _ = job_of(settings(text, "lstm"), tmp_path, "lstm")
    other = job_of(settings(text, "lstm"), tmp_path, "lstm")[0]
    assert isinstance(job, Carrying)
    for batch, _ in zip(job.batches, range(3), strict=False):
        job.loss(model, batch)
    other.batches.restore({"epoch": 0, "batch": 3})
    other.carry_on(job.carried())
    batch = next(iter(other.batches))
    assert torch.equal(job.loss(model, batch).total, other.loss(model, batch).total)


def test_the_end_or_blocks_are_held_out(tmp_path):
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress("".join(f"line {number}\n" for number in range(100)).encode()))
    lines = [f"line {number}" for number in range(100)]
    end = gather_text(TextData(text=str(path), hold_out=0.2))
    assert [*end.train, *end.valid] == lines
    assert abs(end.valid.size.characters / 790 - 0.2) < 0.02
    blocks = gather_text(TextData(text=str(path), hold_out=0.2, division="blocks", block_lines=10))
    assert sorted([*blocks.train, *blocks.valid]) == sorted(lines)
    held = [int(line.split()[1]) for line in blocks.valid]
    assert len(held) == 20
    assert all(number // 10 * 10 in held for number in held)
    assert end.fingerprint == blocks.fingerprint


def test_files_of_a_folder_and_given_parts(tmp_path):
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).write_text(f"{name}\n")
    corpus = gather_text(TextData(text=str(tmp_path), hold_out=0.5))
    assert (list(corpus.train), list(corpus.valid), corpus.test, corpus.notes) == (["a"], ["b"], None, ())
    tokens = encode_text(Text(find_files(tmp_path).paths), TextTokenizer("character", ["a", "b"]))
    assert tokens.tolist() == [END, 4, END, 5, END]
    assert tokens.dtype == np.int32


@pytest.fixture
def parts(tmp_path):
    """A folder of files a to d, of a word each, and a link to the last."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "abcd":
        (folder / name).write_text(f"{name}\n")
    (tmp_path / "link").symlink_to(folder / "d")
    return folder


def test_held_out_files_of_the_folder_are_not_trained_on(parts):
    valid, test = parts / "b", parts.parent / "link"
    corpus = gather_text(TextData(text=str(parts), valid=str(valid), test=str(test)))
    assert (list(corpus.train), list(corpus.valid), list(corpus.test)) == (["a", "c"], ["b"], ["d"])
    assert corpus.notes == (f"Not trained on, since it is validated on or tested with: {valid}, {parts / 'd'}.",)
    tested = gather_text(TextData(text=str(parts), test=str(test), hold_out=0.3))
    assert (list(tested.train), list(tested.valid), list(tested.test)) == (["a", "b"], ["c"], ["d"])
    with pytest.raises(
        DataError, match=r"must have text besides that of data.valid and data.test; received .*/b alone"
    ):
        gather_text(TextData(text=str(valid), valid=str(valid)))
    with pytest.raises(DataError, match=r"received .*/a, .*/b, .*/c and 1 more alone, which would be measured on what"):
        gather_text(TextData(text=str(parts), valid=str(parts)))


def test_what_is_held_out_and_shared_is_told(parts, tmp_path):
    told = []

    class Told(Watchers):
        def noted(self, text):
            told.append(text)

    one = str(parts / "b")
    config = settings(parts, "bag")
    config = replace(config, data=replace(config.data, valid=one, test=one))
    corpus = gather_text(config.data)
    train_language_model(config, corpus, Run(folder=RunFolder(tmp_path / "run"), watcher=Told()))
    assert told[0] == f"Not trained on, since it is validated on or tested with: {one}."
    assert told[1].startswith(f"data.valid and data.test share {one}: training chooses its best step by it")


def test_a_changed_side_is_another_corpus(parts, tmp_path):
    config = settings(parts / "a", "bag")
    config = replace(config, data=replace(config.data, valid=str(parts / "b"), test=str(parts / "c")))
    run, before = RunFolder(tmp_path / "run"), gather_text(config.data)
    run.begin(config, before.fingerprint)
    run.begin(config, gather_text(config.data).fingerprint)  # it goes on
    for name in "abc":
        (parts / name).write_text("another\n")
        with pytest.raises(ArgumentError, match="The data of a run must stay as it was"):
            run.begin(config, gather_text(config.data).fingerprint)
        (parts / name).write_text(f"{name}\n")
    assert gather_text(config.data).fingerprint == before.fingerprint


def test_texts_that_cannot_be_used(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "latin.txt").write_bytes("é\n".encode("latin-1"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        DataError, match=r"`data` must be a text file, a folder of them, or builtin:stories; received nothing"
    ):
        gather_text(TextData())
    with pytest.raises(DataError, match="The text to train on must have at least one word; received none"):
        gather_text(TextData(text=str(tmp_path / "empty.txt")))
    with pytest.raises(DataError, match=r"must be UTF-8; .* Convert the file to UTF-8 first"):
        gather_text(TextData(text=str(tmp_path / "latin.txt")))
    with pytest.raises(DataError, match="must hold text files; received an empty folder"):
        find_files(tmp_path / "folder")
    with pytest.raises(DataError, match=r"data.hold_out: must be above 0 where data.valid names no text; received 0"):
        gather_text(TextData(text=str(tmp_path / "latin.txt").replace("latin", "empty"), hold_out=0.0))


def test_a_text_that_is_too_short_to_hold_out_says_so(tmp_path):
    (tmp_path / "tiny.txt").write_text("abc")
    message = (
        "long enough to hold out 0.1 of its characters, in whole lines; received 4 characters, too short to hold out "
        "any: nothing is left to train on. Give a longer text"
    )
    with pytest.raises(DataError, match=message):
        gather_text(TextData(text=str(tmp_path / "tiny.txt")))


def test_files_that_are_no_text_are_left_out_of_a_folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    for name, content in {"b.png": b"\x89PNG\r\n\x1a\n\0\0", "c.zip": b"PK\x03\x04x", "d.pdf": b"%PDF-1"}.items():
        (tmp_path / name).write_bytes(content)
    corpus = gather_text(TextData(text=str(tmp_path), hold_out=0.5))
    assert (list(corpus.train), list(corpus.valid)) == (["one"], ["two"])
    named = ", ".join(str(tmp_path / name) for name in ("b.png", "c.zip", "d.pdf"))
    assert corpus.notes == (f"Left out, since it is no text: {named}.",)
    (tmp_path / "e.txt").write_bytes("é".encode("latin-1"))
    with pytest.raises(DataError, match="Convert the file to UTF-8 first"):
        gather_text(TextData(text=str(tmp_path)))
    with pytest.raises(DataError, match="Convert the file to UTF-8 first"):
        gather_text(TextData(text=str(tmp_path / "b.png")))
    (tmp_path / "a.txt").unlink()
    (tmp_path / "e.txt").unlink()
    with pytest.raises(DataError, match=r"must hold text files; received 3 that are none, such as b\.png\."):
        find_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "builtin:es-en",
            "must be a built-in corpus for task language, builtin:stories; received builtin:es-en, which",
        ),
        ("https://a.org/b.txt", "received an address, and nothing is downloaded here. Fetch the file first"),
    ],
)
def test_what_is_no_file_is_told(name, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        gather_text(TextData(text=name))


def test_the_built_in_text_is_drawn_with_what_it_holds_out():
    drawn = gather_text(TextData(text="builtin:stories", size=40))
    assert [len(list(side)) for side in (drawn.train, drawn.valid, drawn.test)] == [40, 20, 20]
    assert not set(drawn.train) & {*drawn.valid, *drawn.test}
    assert drawn.fingerprint != gather_text(TextData(text="builtin:stories", size=40, seed=1)).fingerprint
