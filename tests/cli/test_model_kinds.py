"""Commands that are given a model of another kind say what they need, what is there, and which command serves it."""

import re
import sys

import pytest

from regard.cli import main
from regard.tasks.task import TASKS
from unit.tasks.test_model_folder import write_kind

#: What stands after the folder, and the kinds that each command takes.
COMMANDS = {
    "translate": (["hola"], {"translate"}),
    "compare": (["there"], {"translate", "language"}),
    "align": (["--source", "there", "--target", "there"], {"translate", "align"}),
    "generate": (["Once"], {"language"}),
    "classify": (["A good film."], {"classify", "images"}),
    "ask": (["a.png", "What is it?"], {"questions"}),
    "caption": (["a.png"], {"captions"}),
    "inspect": (["hola"], {"translate", "language", "classify"}),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_of_another_kind_is_one_paragraph(unchecked, monkeypatch, capsys, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("a text\n")
    rest, kinds = COMMANDS[command]
    for held in sorted(TASKS.keys() - kinds):
        monkeypatch.setattr(sys, "argv", ["regard", command, str(write_kind(tmp_path, held)), *rest])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert re.match(r"regard: `(MODEL|SYSTEMS)` must be the folder of a", said.err)
        assert all(TASKS[one].model in said.err.split(";")[0] for one in kinds)
        assert f"; {tmp_path} holds {TASKS[held].model}. Use `{TASKS[held].command}` with it." in said.err
