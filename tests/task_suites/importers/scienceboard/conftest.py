"""Makes sources of ScienceBoard task files that a test writes."""

import json

import pytest

from deskgym.task_suites.importers.scienceboard.suite import ScienceBoardTasks, suite


@pytest.fixture
def source(tmp_path):
    """Writes task files, by id with underscores (``KAlgebra_B_01``), and makes the source of them."""

    def make(mode: str = "corrected", **files: dict) -> ScienceBoardTasks:
        for name, data in files.items():
            file = tmp_path / "tasks/VM" / (name.replace("_", "/", 1).replace("_", "-") + ".json")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(data))
        return suite(str(tmp_path), mode)

    return make
