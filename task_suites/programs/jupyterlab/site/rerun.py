"""Executes a notebook in the clean machine, and prints what came of it as JSON. Not for import.

Usage: ``rerun.py NOTEBOOK ASKED`` with expressions as JSON, which are evaluated after the last cell.
"""

import ast
import json
import os
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

PRELUDE = '''
import matplotlib.figure as __figure
def __kept(self, *args, __init=__figure.Figure.__init__, **more):
    __init(self, *args, **more)
    __figures.append(self)
__figures, __figure.Figure.__init__ = [], __kept
def drawn():
    """Each axes of each figure: title, labels, lines and bars with the texts of the ticks below them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.container import BarContainer
    found = []
    for figure in __figures:
        FigureCanvasAgg(figure).draw()
        for axes in figure.axes:
            bars = [box for box in axes.containers if isinstance(box, BarContainer)]
            across = bool(bars) and bars[0].orientation == "horizontal"
            axis, limits = (axes.yaxis, axes.get_ylim()) if across else (axes.xaxis, axes.get_xlim())
            ticks = [(tick.get_loc(), tick.label1.get_text()) for tick in axis.get_major_ticks()]
            def label(place):
                near = [text for at, text in ticks if abs(at - place) < 1e-6]
                return near[0] if near else place
            def bar(patch):
                if across:
                    return [label(patch.get_y() + patch.get_height() / 2), patch.get_width()]
                return [label(patch.get_x() + patch.get_width() / 2), patch.get_height()]
            found.append({
                "title": axes.get_title(), "x": axes.get_xlabel(), "y": axes.get_ylabel(),
                "kind": "barh" if across else "bar" if bars else "line" if axes.lines else "other",
                "bars": [bar(patch) for box in bars for patch in box],
                "lines": [[[label(x) for x in line.get_xdata(orig=False)], list(line.get_ydata(orig=False))]
                          for line in axes.lines],
            })
    return found
'''
ASK = """
def __plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.to_dict() if hasattr(value, "to_dict") else str(value)
def __finite(value):
    if isinstance(value, dict):
        return {{str(key): __finite(item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return [__finite(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value
__import__("json").dumps(__finite(__import__("json").loads(__import__("json").dumps({0}, default=__plain))))
"""


def answer(cell):
    """What a cell's last expression gives, or what it raises."""
    for output in cell.outputs:
        if output.output_type == "error":
            return {"error": f"{output.ename}: {output.evalue}"}
        if output.output_type == "execute_result":
            return {"value": json.loads(ast.literal_eval(output.data["text/plain"]))}
    return {"error": "it gives nothing"}


path, asked = sys.argv[1], json.loads(sys.argv[2])
book = nbformat.read(path, 4)
before = [nbformat.v4.new_code_cell(PRELUDE)] if any("drawn(" in text for text in asked) else []
own = [nbformat.v4.new_code_cell(cell.source) for cell in book.cells if cell.cell_type == "code"]
after = [nbformat.v4.new_code_cell(ASK.format(text)) for text in asked]
book = nbformat.v4.new_notebook(cells=[*before, *own, *after])
client = NotebookClient(book, timeout=60, kernel_name="python3", allow_errors=True,
                        resources={"metadata": {"path": os.path.dirname(path)}})  # fmt: skip
found = {"failed": "", "outputs": [], "answers": []}
try:
    client.execute()
    for number, cell in enumerate(own, 1):
        wrong = [output for output in cell.outputs if output.output_type == "error"]
        if wrong and not found["failed"]:
            found["failed"] = f"code cell {number} raises {wrong[0].ename}: {wrong[0].evalue}"
    found["outputs"] = [cell.outputs for cell in own]
    found["answers"] = [answer(cell) for cell in after]
except (CellTimeoutError, DeadKernelError) as error:
    found["failed"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
