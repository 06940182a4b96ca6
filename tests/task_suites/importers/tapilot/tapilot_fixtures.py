"""A small copy of Tapilot-Crossing in both published layouts, with a table and turns of our own."""

import copy
import json
from pathlib import Path
from typing import Any

TABLE = "player,hand,height,wins\n" + "".join(
    f"p{number},{'left' if number % 3 == 0 else 'right'},{170 + number * 7 % 31},{number * 5 % 17}\n"
    for number in range(40)
)
LIBRARY = '''\
import pandas as pd

def read_csv_file(file_path):
    """Reads a table."""
    return pd.read_csv(file_path)

def mean_of(series):
    """The mean."""
    return series.mean()

def pick(frame, column, value):
    """Rows with a value."""
    return frame[frame[column] == value]
'''
CONTEXT = "There is the data: atp_tennis containing the following columns: ['player', 'hand', 'height', 'wins'].\n"
HISTORY = """\
import pandas as pd
import os, sys, pickle
atp_tennis = pd.read_csv(os.path.join(sys.argv[1], 'atp_tennis.csv'))
atp_tennis["tall"] = atp_tennis["height"] > 185
pickle.dump(3, open("./pred_result/lefties.pkl", "wb"))
"""
READ = 'import pandas as pd\nimport pickle\n\n# Load the dataset\natp_tennis = pd.read_csv("atp_tennis.csv")\n'
SAVE = """\
print("mean_height:\\n", mean_height)

# save data
pickle.dump(mean_height,open("./pred_result/mean_height.pkl","wb"))
pickle.dump(lefties,open("./pred_result/lefties.pkl","wb"))
"""
SOLUTION = """\
# Keep the players who play with the left hand
lefties = atp_tennis[atp_tennis["hand"] == "left"][["player", "wins"]]
# Average their heights
mean_height = atp_tennis.loc[atp_tennis["tall"], "height"].mean()
"""
EVAL = """\
import pickle
import numpy as np
ref = pickle.load(open("./ref_result/mean_height.pkl", "rb"))
pred = pickle.load(open("./pred_result/mean_height.pkl", "rb"))
print(bool(np.isclose(ref, pred)))

def same(a, b):
    return a.index.equals(b.index) and a.shape == b.shape and (a.values == b.values).all()

ref = pickle.load(open("./ref_result/lefties.pkl", "rb"))
pred = pickle.load(open("./pred_result/lefties.pkl", "rb"))
print(same(ref, pred))
"""
PLOT_SOLUTION = 'figure, axes = plt.subplots()\naxes.bar(["a", "b"], [1, 2])\n'
PLOT_SAVE = 'plt.savefig("./pred_result/bars.png")\n'
PLOT_EVAL = """\
import numpy as np
from PIL import Image
a, b = (np.asarray(Image.open(f"{k}_result/bars.png").convert("L").resize((80, 60)), float) for k in ("ref", "pred"))
print(1 - np.abs(a - b).mean() / 16)
"""
MODEL_SOLUTION = """\
from sklearn.linear_model import LinearRegression
model = LinearRegression().fit(atp_tennis[["height"]], atp_tennis["wins"])
"""
MODEL_SAVE = 'pickle.dump(model, open("./pred_result/model.pkl", "wb"))\n'
MODEL_EVAL = """\
import pickle
import pandas as pd
table = pd.read_csv("atp_tennis.csv")
def score(path):
    return pickle.load(open(path, "rb")).score(table[["height"]], table["wins"])
print(score("ref_result/model.pkl") <= score("pred_result/model.pkl") + 1e-9)
"""
PRIVATE_SOLUTION = """\
from decision_company import read_csv_file, mean_of, pick
lefties = pick(atp_tennis, "hand", "left")[["player", "wins"]]
mean_height = mean_of(pick(atp_tennis, "tall", True)["height"])
"""
OPEN_IMPORT = "import pickle\nfrom decision_company import read_csv_file, # please import what you need\n"
READ_PRIVATELY = (
    'from decision_company import read_csv_file\natp_tennis["again"] = len(read_csv_file("atp_tennis.csv"))\n'
)
ANSWER = {"options": ["A. left", "B. right", "C. both", "D. it cannot be told"], "correct_answer": "B"}
CHOICE_QUERY = "Which hand is the more frequent one?\nA. left\nB. right\nC. both\nD. it cannot be told"


def template(head: str = READ, save: str = SAVE) -> str:
    """A template as in the prompts."""
    begin, end = "# YOUR SOLUTION BEGIN:", "# YOUR SOLUTION END"
    return f"{head}\n{begin}\n<code1>\n[COMPLETE YOUR CODE]\n</code1>\n{end}\n\n{save}"


def messages(query: str, code: str | None) -> list[dict[str, str]]:
    """A prompt with one turn of history."""
    asked = (
        query if code is None else f"{query}\n\nMy template of code snippet is:\n\n---BEGIN CODE TEMPLATE---\n\n{code}"
    )
    if code is not None:
        asked += "\n---END CODE TEMPLATE---\n"
    return [
        {"role": "system", "content": f"{CONTEXT}Interactions begin:\n"},
        {"role": "user", "content": 'Hi Tapilot, please load "atp_tennis.csv" and mark who is tall.'},
        {"role": "assistant", "content": f"Sure:\n'''\n{HISTORY}'''"},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": "Here is the code:\n'''\n"},
    ]


def plain(parts: list[dict[str, str]]) -> str:
    """The same prompt as plain text."""
    speakers = {"system": "", "user": "\n\n[USER (data scientist)]: ", "assistant": "\n\n[YOU (AI assistant)]: "}
    return "".join(speakers[part["role"]] + part["content"] for part in parts)


QUERY = (
    "How tall are the tall players on average, and which players are left-handed? Please generate a value and a table."
)


def private_turn() -> dict[str, Any]:
    """A code turn over the private library."""
    return code_turn(PRIVATE_SOLUTION, head=OPEN_IMPORT + READ_PRIVATELY)


def code_turn(
    solution: str = SOLUTION, save: str = SAVE, check: str = EVAL, kinds: Any = None, head: str = READ
) -> dict[str, Any]:
    """A turn that is answered by code, as the fields of version 1.0."""
    prompt = messages(QUERY, template(head, save))
    return {
        "data_id": 1,
        "domain_name": "ATP_tennis",
        "result_type": ["value", "dataframe"] if kinds is None else kinds,
        "current_query": QUERY,
        "prompt_with_hist_txt": plain(prompt),
        "prompt_with_hist_json": prompt,
        "reference_answer": ("" if head == READ else READ_PRIVATELY) + solution + save,
        "ref_code_hist": HISTORY,
        "ref_code_all": f"{HISTORY}\n{solution}\n{save}",
        "eval_metrics": check,
    }


def choice_turn() -> dict[str, Any]:
    """A turn that is answered by a letter."""
    prompt = messages(CHOICE_QUERY, None)
    return {
        "data_id": 2,
        "domain_name": "ATP_tennis",
        "result_type": "multi_choice",
        "current_query": CHOICE_QUERY,
        "prompt_with_hist_txt": plain(prompt),
        "prompt_with_hist_json": json.dumps(prompt),
        "reference_answer": json.dumps(ANSWER),
        "ref_code_hist": HISTORY,
    }


def lines() -> dict[str, list[dict[str, Any]]]:
    """The turns of the JSONL layout, by file; changed freely."""
    plot = code_turn(PLOT_SOLUTION, PLOT_SAVE, PLOT_EVAL, "plot") | {"data_id": 3}
    plot["ref_code_all"] = "import matplotlib.pyplot as plt\n" + plot["ref_code_all"]
    plot["reference_answer"] = "import matplotlib.pyplot as plt\n" + plot["reference_answer"]
    model = code_turn(MODEL_SOLUTION, MODEL_SAVE, MODEL_EVAL, ["model"]) | {"data_id": 4}
    private = private_turn() | {"data_id": 5}
    return copy.deepcopy(
        {
            "normal": [code_turn(), plot, model],
            "private": [{"private_lib": LIBRARY, "private_lib_json": {}}, private],
            "action_analysis": [choice_turn()],
            "action_correction": [code_turn() | {"data_id": "c6"}],
        }
    )


def write_resources(folder: Path) -> None:
    """Table and private library."""
    folder.mkdir(parents=True)
    (folder / "atp_tennis.csv").write_text(TABLE)
    (folder / "decision_company.py").write_text(LIBRARY)


def write_lines(folder: Path, files: dict[str, list[Any]] | None = None) -> Path:
    """A copy of version 1.0; an entry that is a string is written as it is."""
    data = folder / "data"
    write_resources(data / "resource")
    (data / "dialogue_data").mkdir()
    for name, entries in (lines() if files is None else files).items():
        texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
        (data / "dialogue_data" / f"{name}.jsonl").write_text("\n".join(texts) + "\n")
    return folder


def folder_files(entry: dict[str, Any], action: Any, place: str = "reference") -> dict[str, str]:
    """The files of one turn's folder, from the fields of version 1.0."""
    prompt = entry["prompt_with_hist_json"]
    prompt = json.loads(prompt) if isinstance(prompt, str) else prompt
    meta = {"result_type": entry["result_type"], "action": action, "data_id": entry["data_id"]}
    made = {
        "meta_data.json": json.dumps(meta),
        "prompt_curr.txt": plain(prompt[3:]),
        f"{place}/prompt_code_hist.json": json.dumps(prompt),
        f"{place}/prompt_code_hist.txt": plain(prompt),
        f"{place}/ref_code_hist.py": entry["ref_code_hist"],
    }
    if "eval_metrics" not in entry:
        return made | {"reference_answer.txt": entry["reference_answer"]}
    reference = entry["ref_code_all"].replace("./pred_result/", "./ref_result/")
    return made | {
        "ref_code.py": entry["reference_answer"],
        f"{place}/ref_code_all.py": reference,
        "eval.py": entry["eval_metrics"],
    }


def folders() -> dict[str, dict[str, str]]:
    """The turns of the folder layout, by id: the texts of their files."""
    return {
        "ATP_tennis/ana/normal/turn_2": folder_files(code_turn(), None),
        "ATP_tennis/ana/private/turn_2": folder_files(private_turn(), "", "src"),
        "ATP_tennis/ana/action/turn_3_analysis_1": folder_files(choice_turn(), "analysis"),
        "ATP_tennis/ana/action/turn_4": folder_files(choice_turn() | {"result_type": "unanswerable"}, "una"),
        "ATP_tennis/short_ana/short_action/turn_2_short_1": folder_files(code_turn(), "clarification"),
        "ATP_tennis/short_ana/short_action_private/turn_2_short_2": folder_files(private_turn(), "correction"),
    }


def write_folders(folder: Path, turns: dict[str, dict[str, str]] | None = None) -> Path:
    """A copy of the release of 2024."""
    data = folder / "data"
    write_resources(data / "resource")
    for name, files in (folders() if turns is None else turns).items():
        for file, text in files.items():
            path = data / "interaction_data" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for result in ("ref_result", "pred_result"):
            (data / "interaction_data" / name / result).mkdir()
    return folder
