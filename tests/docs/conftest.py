"""What the tests of pages share: a folder with all that the pages name."""

import pytest

from docs.page_files import write_world


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Give the files and runs that the pages name; tests work on copies."""
    return write_world(tmp_path_factory.mktemp("docs"))
