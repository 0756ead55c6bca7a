"""Settings from tables, strictly."""

import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from typing import Literal

import pytest

from regard.config.read import (
    OLD_NAMES,
    OLD_VALUES,
    ONCE_SHARED,
    Written,
    current_names,
    load_toml,
    merge,
    parse_assignments,
    plain_values,
    read_any_version,
    read_settings,
)
from regard.config.show import differences, field_help, flatten, show_settings, to_table
from regard.config.train import Constant, Cosine, InverseSquareRoot, Linear, Plateau, Train
from regard.errors import ArgumentError
from regard.tasks.captions.settings import CaptionConfig
from regard.tasks.images.settings import ImagesConfig
from regard.tasks.questions.settings import QuestionConfig
from regard.tasks.translation.settings import Config, Data


@dataclass(frozen=True, kw_only=True)
class Whole:
    name: str = 'quoted "text"\n'
    sides: tuple[str, ...] = ("a", "b")
    limit: int | None = None
    data: Data = field(default_factory=Data)
    train: Train = field(default_factory=Train)


def test_numbers_are_taken_for_the_type_they_are_asked_as():
    settings = read_settings(Train, {"clip": 2, "steps": 7, "schedule": {"rate": 1}})
    assert (settings.clip, type(settings.clip), settings.steps) == (2.0, float, 7)
    assert settings.schedule == InverseSquareRoot(rate=1.0)


def test_settings_of_some_models_alone_are_not_taken_for_text():
    given = parse_assignments(["model.dropout=0.3", "model.num_layers=2", "model.tie=all"])
    assert plain_values(Config, given) == {"model": {"dropout": 0.3, "num_layers": 2, "tie": "all"}}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"train": {"stpes": 3}}, "train.stpes: unknown key. Did you mean steps?"),
        ({"trian": {}}, "trian: unknown key. Did you mean train?"),
        ({"train": {"steps": "many"}}, 'train.steps: must be a whole number; received "many".'),
        ({"train": {"steps": 1.5}}, "train.steps: must be a whole number; received 1.5."),
        ({"train": {"steps": True}}, "train.steps: must be a whole number; received True."),
        ({"train": {"tensorboard": 1}}, "train.tensorboard: must be true or false; received 1."),
        ({"train": {"clip": "a"}}, 'train.clip: must be a number; received "a".'),
        ({"train": 3}, "train: must be a table of settings; received 3."),
        ({"train": {"steps": 0}}, "train: `steps` must be at least 1; received 0."),
        ({"train": {"ema": 1}}, "train: `ema` must be from 0 to below 1; received 1."),
        ({"sides": "ab"}, 'sides: must be a list; received "ab".'),
        (
            {"train": {"result": "bset"}},
            'train.result: must be one of best, last, average; received "bset". Did you mean best?',
        ),
        (
            {"train": {"schedule": {"kind": "cosin"}}},
            "train.schedule.kind: must be one of inverse-square-root, cosine, linear, plateau, constant; received "
            '"cosin". Did you mean cosine?',
        ),
        (
            {"train": {"schedule": {"factor": 0.5}}},
            "train.schedule.factor: unknown key. Choose one of rate, warm_up, kind.",
        ),
        ({"train": {"schedule": {"rate": 0}}}, "train.schedule: `rate` must be above 0; received 0."),
        ({"data": {"source": "a"}}, "data: `source` and `target` must be given together; received one of them."),
        (
            {"data": {"clean": {"max_words": 0}}},
            "data.clean: `min_words` must be from 1 to `max_words` = 0; received 1.",
        ),
    ],
)
def test_a_mistake_is_named_by_its_dotted_key(table, message):
    with pytest.raises(ArgumentError) as caught:
        read_settings(Whole, table)
    assert str(caught.value).startswith(message)


def test_an_alternative_is_chosen_by_its_kind():
    schedule = {"kind": "plateau", "patience": 5}
    assert read_settings(Train, {"schedule": schedule}).schedule == Plateau(patience=5)


def test_assignments_are_typed_by_their_key():
    table = parse_assignments(["name=7", "train.steps=1_000", "train.clip=3", "train.tensorboard=true", 'sides=["x"]'])
    settings = read_settings(Whole, table)
    assert (settings.name, settings.sides) == ("7", ("x",))
    assert (settings.train.steps, settings.train.clip, settings.train.tensorboard) == (1000, 3.0, True)
    assert read_settings(Whole, parse_assignments(["limit=4"])).limit == 4
    assert read_settings(Whole, {"limit": 3}, parse_assignments(["limit=none"])).limit is None
    assert read_settings(Whole, parse_assignments(["name='a=b'"])).name == "a=b"
    assert read_settings(Train, parse_assignments(["schedule.kind=cosine", "schedule.rate=1e-4"])).schedule == Cosine(
        rate=1e-4
    )


@pytest.mark.parametrize("assignment", ["train.steps", "=3", "train..steps=3"])
def test_an_assignment_must_have_key_and_value(assignment):
    with pytest.raises(ArgumentError, match=r"`--set` must be key=value, such as train.steps=500; received"):
        parse_assignments([assignment])


def test_an_assignment_under_a_value_is_refused():
    with pytest.raises(ArgumentError, match=r"a.b.c: b is a value, set by an earlier --set, and has no keys."):
        parse_assignments(["a.b=1", "a.b.c=2"])


def test_later_layers_win_and_another_kind_replaces():
    lower = {"train": {"steps": 1, "schedule": {"kind": "cosine", "final": 0.5}}}
    assert merge(lower, {"train": {"schedule": {"kind": Written("linear")}}})["train"] == {
        "steps": 1,
        "schedule": {"kind": "linear"},
    }
    settings = read_settings(Whole, lower, parse_assignments(["train.schedule.kind=linear"]))
    assert settings.train.schedule == Linear()
    assert read_settings(Whole, lower, parse_assignments(["train.schedule.rate=2"])).train.schedule == Cosine(
        rate=2.0, final=0.5
    )


def test_what_is_shown_reads_back_the_same():
    settings = Whole(
        name='q "uo" \\ \n\t\x7f ñ', sides=("a", '"'), train=Train(schedule=Plateau(rate=1e-5), steps=3, clip=0.25)
    )
    shown = show_settings(settings)
    assert read_settings(Whole, tomllib.loads(shown)) == settings
    assert read_settings(Whole, to_table(settings)) == settings


def test_every_setting_is_shown_with_its_help():
    shown = show_settings(Whole())
    for settings in (Train, Data, Plateau, Constant):
        assert len(field_help(settings)) >= len(settings.__dataclass_fields__) - 1
    for key in flatten(Train()):
        assert f"\n{key.rpartition('.')[2]} = " in shown
    joined = shown.replace("\n# ", " ")
    for text in field_help(Train).values():
        assert text in joined
    assert "# Kinds: inverse-square-root, cosine, linear, plateau, constant." in shown
    assert "# limit = not set" in shown


def test_choices_are_listed_where_the_help_does_not():
    @dataclass(frozen=True)
    class Choice:
        side: Literal["left", "right"] = "left"
        """Where to go."""

    assert "# Where to go. One of left, right." in show_settings(Choice())


def test_differences_name_what_changed():
    after = Whole(train=Train(steps=3, schedule=Cosine()), limit=2)
    assert differences(Whole(), after) == [
        "limit was not set, now 2",
        "train.steps was 10000, now 3",
        'train.schedule.kind was "inverse-square-root", now "cosine"',
        "train.schedule.final was not a setting, now 0.0",
    ]


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"`recipe` must be a TOML file of settings; .*absent.toml cannot be read"):
        load_toml(tmp_path / "absent.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(ArgumentError, match=r"bad.toml must be TOML; received: Invalid value"):
        load_toml(tmp_path / "bad.toml")
    (tmp_path / "good.toml").write_text("\ufeffa = 1", encoding="utf-8")
    assert load_toml(tmp_path / "good.toml") == {"a": 1}


def test_settings_do_not_import_torch():
    code = "import sys, regard.config.read, regard.config.show, regard.config.train, regard.tasks.translation.settings"
    code += "; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


#: A class that has each name of today, and what an older version wrote.
RENAMED = [
    (ImagesConfig, {"train": {"batch_tokens": 7}}, {"train": {"batch_size": 7}}),
    (QuestionConfig, {"train": {"batch_tokens": 7}}, {"train": {"batch_size": 7}}),
    (CaptionConfig, {"train": {"batch_tokens": 7}}, {"train": {"batch_size": 7}}),
    (QuestionConfig, {"model": {"look": "places"}}, {"model": {"attention": "positions"}}),
    (QuestionConfig, {"model": {"look": "mean"}}, {"model": {"attention": "mean"}}),
    (QuestionConfig, {"model": {"num_looks": 3}}, {"model": {"num_layers": 3}}),
    (
        Config,
        {"model": {"kind": "recurrent", "attention": {"kind": "local", "place": "monotonic"}}},
        {"model": {"kind": "recurrent", "attention": {"kind": "local", "alignment": "monotonic"}}},
    ),
]


@pytest.mark.parametrize(("settings", "old", "new"), RENAMED)
def test_old_names_are_read_from_files_and_refused_elsewhere(settings, old, new):
    assert current_names(settings, old) == new
    assert current_names(settings, new) == new
    with pytest.raises(ArgumentError, match=r"unknown key\. Set [a-z_.]+ instead: [A-Z]"):
        read_settings(settings, old)


def test_an_old_name_beside_the_new_one_is_one_too_many():
    both = {"train": {"batch_tokens": 7, "batch_size": 7}}
    assert current_names(ImagesConfig, both) == both
    with pytest.raises(ArgumentError, match=r"train.batch_tokens: unknown key"):
        read_any_version(ImagesConfig, both)


def test_every_old_name_has_a_row():
    def keys(table, at=""):
        for name, value in table.items():
            yield f"{at}{name}"
            yield from keys(value, f"{at}{name}.") if isinstance(value, dict) else ()

    assert OLD_NAMES.keys() <= {key for _, old, _ in RENAMED for key in keys(old)}
    assert OLD_VALUES.keys() <= {
        (f"{part}.{name}", value)
        for _, old, _ in RENAMED
        for part, table in old.items()
        for name, value in table.items()
        if isinstance(value, str)
    }


def test_a_name_that_another_task_still_has_stays_there():
    table = {"train": {"batch_tokens": 7, "r_drop": 0.5, "samples": 2}}
    assert current_names(Config, table) == table


def test_pictures_are_counted_by_batch_size():
    with pytest.raises(ArgumentError) as caught:
        read_settings(ImagesConfig, parse_assignments(["train.batch_tokens=7"]))
    assert str(caught.value) == (
        "train.batch_tokens: unknown key. Set train.batch_size instead: Pictures that one process takes at once."
    )


def test_settings_that_every_task_had_are_left_out_where_they_did_nothing():
    off = {"r_drop": 0.0, "bpe_dropout": 0.0, "guided_alignment": 0.0, "valid_sentences": 500, "samples": 3}
    assert {f"train.{name}" for name in off} == ONCE_SHARED.keys()
    assert current_names(ImagesConfig, {"train": {"steps": 3, **off}}) == {"train": {"steps": 3}}
    assert read_any_version(ImagesConfig, {"train": {"steps": 3, **off}}).train.steps == 3
    with pytest.raises(ArgumentError, match=r"train.r_drop: unknown key"):
        read_any_version(ImagesConfig, {"train": {"r_drop": 5.0}})


@pytest.mark.parametrize("table", [{"train": 3}, {"model": [1]}, {"train": {"batch_tokens": [1]}}, {"x": {"y": 1}}])
def test_what_is_no_settings_is_left_to_the_reader(table):
    with pytest.raises(ArgumentError):
        read_any_version(ImagesConfig, table)
