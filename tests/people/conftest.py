"""Files of the four messy tables, and the command line in this process."""

import pytest
from examples import messy_tables
from tests.cli.conftest import run  # noqa: F401


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A function that writes one of the tables and returns its path."""
    folder = tmp_path_factory.mktemp("tables")

    def table(name, file="", **options):
        path = folder / f"{file or name}.csv"
        if not path.exists():
            messy_tables.write(getattr(messy_tables, name)(**options), path)
        return path

    return table
