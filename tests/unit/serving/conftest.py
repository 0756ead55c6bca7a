"""Small random models that a server has loaded."""

import pytest

from unit.serving.served import client, load_all


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    return load_all(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def asking(models):
    with client(models) as opened:
        yield opened
