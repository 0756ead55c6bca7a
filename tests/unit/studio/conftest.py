"""Small random models that a studio has open."""

import pytest

from regard.studio.models import Models
from unit.studio.visiting import make_folders, visitor


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    return make_folders(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def models(folders):
    return Models(list(folders.values()))


@pytest.fixture
def client(models):
    return visitor(models)
