"""examples/quickstart.ipynb runs top to bottom, and shows what it says."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_notebook_runs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=200, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    images = [output for output in outputs if "image/png" in output.get("data", {})]
    texts = [output["data"]["text/plain"] for output in outputs if output["output_type"] == "execute_result"]
    assert len(images) == 2 and "1.0" in texts
    assert any("'outcome': 'pass'" in text for text in texts)


def test_it_is_kept_without_what_it_printed():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)
