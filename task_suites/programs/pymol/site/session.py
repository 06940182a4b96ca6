"""Runs in the clean machine, with PyMOL: how the agent's file differs from what commands of the evaluator's make.

What is asked is a file of JSON, and so is what is found: ``{"error": text, "differs": [text, ...], "answer": value}``.

A session is a pickle: it is read with a reader that makes no objects of classes and calls nothing, and only what can be
compared is given to PyMOL.
"""

import codecs
import io
import json
import math
import pickle
import re
import sys
import zlib

ATOM, MEASURES, GROUP = 1, 4, 12  # kinds of entries in a session, as PyMOL numbers them
KEEP = ("names", "settings", "unique_settings", "view", "version", "selector_secrets", "color_ext", "colors",
        "moviescenes")  # fmt: skip
LIMIT = 64 << 20  # bytes of a session
MOVED = 0.002  # Å: files in PDB's format round to 0.001
DRAWING = re.compile(r"(_color|transparency|_scale|_size|_width|_radius)\Z|bg_")  # settings that change what is seen
LINES = 1 << 10 | 1 << 17 | 1 << 18  # representations of measures: dashes, angles, dihedrals
REPRESENTATIONS = (
    "sticks spheres surface labels nb_spheres cartoon ribbon lines mesh dots dashes nonbonded angles dihedrals "
    "ellipsoids cell"
).split()


class Storage:
    """What a session stores of scripts: not looked at."""


class Reader(pickle.Unpickler):
    """Reads lists, texts and numbers, and the one class and function that PyMOL's own sessions name."""

    def find_class(self, module, name):
        """The class or function of this name; only two are legal."""
        if (module, name) == ("pymol", "Session_Storage"):
            return Storage
        if (module, name) == ("_codecs", "encode"):
            return lambda text, encoding="latin1": codecs.encode(str(text), "latin1")
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no session of molecules does")


def session(path):
    """What of a session is given to PyMOL."""
    with open(path, "rb") as file:
        data = Reader(file).load()
    if isinstance(data, bytes):  # with session_compression
        data = Reader(io.BytesIO(zlib.decompressobj().decompress(data, LIMIT))).load()
    if not isinstance(data, dict) or not isinstance(data.get("names"), list):
        raise ValueError("it has no list of names")
    kept = {key: data[key] for key in KEEP if key in data}
    kept["names"] = [each for each in data["names"] if not each or each[1] == 1 or each[4] in (ATOM, MEASURES, GROUP)]
    return kept


def load(cmd, path, names):
    """Load a session, or a molecule under the first of the names."""
    if path.endswith(".pse"):
        cmd.set_session(session(path))
    else:
        cmd.load(path, names[0] if names else "", zoom=0)


def state(cmd, asked):
    """What can be compared, by aspect."""
    now = cmd.get_session(compress=0)
    entries = objects(now)
    shown = enabled(entries)
    found = {"objects": {}, "ss": {}, "color": {}, "label": {}, "measures": measures(entries, shown)}
    for name in cmd.get_object_list() or []:
        rows = []
        cmd.iterate_state(
            -1,
            f"%{name}",
            "rows.append((segi, chain, resi, resn, name, alt, elem, x, y, z, ss, color, label, b, vdw, cartoon))",
            space={"rows": rows},
        )
        rows.sort(key=lambda row: (*row[:6], *(round(value, 1) for value in row[7:10])))
        states = cmd.count_states(f"%{name}")
        found["objects"][name] = {"states": states, "rows": rows, "bonds": bonds(cmd, name)}
        found["ss"][name] = [(row[:6], row[10], round(row[14], 2), row[15]) for row in rows]
        found["color"][name] = [(row[:6], rgb(cmd, row[11])) for row in rows]
        found["label"][name] = [(row[:6], row[12]) for row in rows]
    for each in REPRESENTATIONS:
        found[each] = {name: seen(cmd, each, name) if name in shown else [] for name in found["objects"]}
    named = asked.get("settings", ())
    found["settings"] = {name: setting(cmd, name) for name in named}
    drawing = [name for name in cmd.setting.get_name_list() if DRAWING.search(name) and name not in named]
    found["drawing"] = {name: setting(cmd, name) for name in drawing}
    found["drawing"]["of single atoms"] = bool(now["unique_settings"])
    found["selections"] = {name: keys(cmd, name) for name in asked.get("selections", ())}
    view = cmd.get_view()
    found["rotation"], found["center"] = view[:9], (*view[12:15], *view[9:11])
    found["scenes"] = recalled(cmd)
    return found


def keys(cmd, selection):
    """The atoms of a selection; None where it is not there."""
    if selection not in cmd.get_names("selections"):
        return None
    rows = []
    cmd.iterate(f"%{selection}", "rows.append((model, segi, chain, resi, resn, name, alt))", space={"rows": rows})
    return sorted(rows)


def seen(cmd, representation, name):
    """The atoms of an object that are shown so."""
    rows = []
    cmd.iterate(f"%{name} & rep {representation}", "rows.append((segi, chain, resi, resn, name, alt))",
                space={"rows": rows})  # fmt: skip
    return sorted(rows)


def bonds(cmd, name):
    """Pairs of atoms, by their places in the sorted list, and the order of their bond."""
    model = cmd.get_model(f"%{name}")
    at = [(*(getattr(atom, key) for key in ("segi", "chain", "resi", "resn", "name")),
           *(round(value, 1) for value in atom.coord)) for atom in model.atom]  # fmt: skip
    return sorted((*sorted((at[bond.index[0]], at[bond.index[1]])), bond.order) for bond in model.bond)


def rgb(cmd, color):
    """Red, green and blue of a colour, by name or number."""
    return tuple(round(value, 3) for value in cmd.get_color_tuple(color))


def setting(cmd, name):
    """A setting's value for each object; where there is none, in general. Colours are red, green and blue."""

    def value(of):
        text = cmd.get(name, of)
        try:
            return rgb(cmd, text) if "color" in name or name.startswith("bg_") else float(text)
        except Exception:
            return text

    return [value(each) for each in sorted(cmd.get_object_list() or [""])]


def objects(data):
    """The entries of a session that are objects, not selections."""
    return [entry for entry in data["names"] if entry and entry[1] == 0]


def enabled(entries):
    """The names of the objects that are shown: they and all groups that they are in are enabled."""
    of = {entry[0]: (bool(entry[2]), entry[6] if len(entry) > 6 else "") for entry in entries}

    def shown(name, depth=0):
        on, group = of.get(name, (True, ""))
        return on and (not group or depth > 20 or shown(group, depth + 1))

    return {name for name in of if shown(name)}


def measures(entries, shown):
    """The points of every distance, angle and dihedral that is shown, rounded; each in the order that sorts first."""
    found = []
    for entry in entries:
        if entry[4] == MEASURES and entry[0] in shown and entry[5][0][3] & LINES:
            for group in entry[5][2]:
                if group:
                    for size, step, at in ((2, 2, 0), (3, 5, 3), (4, 6, 5)):
                        found.extend(split(group[at + 1] or [], group[at] or 0, size, step))
    return sorted(found)


def split(points, count, size, step):
    """Groups of so many points; ``step`` is how many are stored for each."""
    triples = [tuple(round(value, 2) for value in points[k : k + 3]) for k in range(0, 3 * count, 3)]
    for k in range(0, len(triples), step):
        each = triples[k : k + size]
        yield [size, *min(each, each[::-1])]


def difference(aspect, ours, theirs):
    """What differs, as a text, or none."""
    if aspect == "objects":
        return molecules(ours, theirs)
    if aspect in ("rotation", "center"):
        most = 0.01 if aspect == "rotation" else 0.1
        near = all(abs(a - b) <= most for a, b in zip(ours, theirs, strict=True))
        found, right = ([round(value, 3) for value in each] for each in (theirs, ours))
        return "" if near else f"{aspect} is {found}; right is {right}"
    if aspect == "measures":
        near = len(ours) == len(theirs) and all(
            a[0] == b[0] and all(math.dist(p, q) < 0.05 for p, q in zip(a[1:], b[1:], strict=True))
            for a, b in zip(ours, theirs, strict=True)
        )
        found = f"measured are {len(theirs)}, such as {theirs[:3]}; right are {len(ours)}, such as {ours[:3]}"
        return "" if near else found
    if ours == theirs:
        return ""
    if isinstance(ours, dict):
        for name in sorted({*ours} | {*theirs}):
            a, b = ours.get(name), theirs.get(name)
            if a != b:
                return f"{aspect} of {name}: {among(a, b)}"
    return f"{aspect} are {theirs}; right are {ours}"


def among(ours, theirs):
    """How two lists differ, as a text."""
    if not isinstance(ours, list) or not isinstance(theirs, list) or not (ours + theirs):
        return f"is {theirs}; right is {ours}"
    more, less = [each for each in theirs if each not in ours], [each for each in ours if each not in theirs]
    if not more and not less:
        return "is in another order"
    return f"{len(more)} too many, such as {more[:1]}, and {len(less)} missing, such as {less[:1]}"


def molecules(ours, theirs):
    """How the objects differ, as a text, or none."""
    if {*ours} != {*theirs}:
        return f"the objects are {sorted(theirs)}; right are {sorted(ours)}"
    for name in ours:
        right, got = ours[name], theirs[name]
        if right["states"] != got["states"]:
            return f"{name} has {got['states']} states; right are {right['states']}"
        if len(right["rows"]) != len(got["rows"]):
            return f"{name} has {len(got['rows'])} atoms; right are {len(right['rows'])}"
        for a, b in zip(right["rows"], got["rows"], strict=True):
            if a[:7] != b[:7] or abs(a[13] - b[13]) > 0.01 or math.dist(a[7:10], b[7:10]) > MOVED:
                return f"{name} has an atom {b[:10]}; right is {a[:10]}"
        if right["bonds"] != got["bonds"]:
            return f"the bonds of {name} are others"
    return ""


def recalled(cmd):
    """What each scene shows: representations, colours and the view."""
    found = {}
    for name in cmd.get_scene_list():
        cmd.scene(name, "recall", animate=0, quiet=1)
        found[name] = {"rotation": [round(value, 2) for value in cmd.get_view()[:9]]}
        shown = enabled(objects(cmd.get_session(compress=0)))
        for each in REPRESENTATIONS:
            found[name][each] = [seen(cmd, each, of) for of in sorted(cmd.get_object_list() or []) if of in shown]
        rows = []
        cmd.iterate("all", "rows.append((model, segi, chain, resi, name, color))", space={"rows": rows})
        found[name]["color"] = [(*row[:5], rgb(cmd, row[5])) for row in sorted(rows)]
    return found


def run(cmd, lines):
    """Run the evaluator's commands; one that fails ends all."""
    for line in lines:
        if line.strip() and not cmd._parser.parse(line):
            raise SystemExit(f"PyMOL refuses the evaluator's command {line!r}")


def main():
    """Find what is asked for in the file that the argument names."""
    with open(sys.argv[1]) as file:
        asked = json.load(file)
    from pymol2 import PyMOL  # without threads of its own, one of which could end the process

    library = PyMOL()
    library.start()
    cmd = library.cmd
    run(cmd, asked["commands"])
    made = {"error": "", "differs": []}
    if asked.get("ask"):
        made["answer"] = getattr(cmd, asked["ask"][0])(*asked["ask"][1:])
    if asked.get("picture"):
        path, width, height = asked["picture"]
        cmd.png(path, width, height, ray=1, quiet=1)
    if asked.get("file"):
        ours = state(cmd, asked)
        cmd.reinitialize()
        try:
            load(cmd, asked["file"], [*ours["objects"]])
            theirs = state(cmd, asked)
        except Exception as problem:
            made["error"] = f"{type(problem).__name__}: {str(problem)[:300]}"
        else:
            found = (difference(aspect, ours[aspect], theirs[aspect]) for aspect in asked["counts"])
            made["differs"] = [text for text in found if text]
    with open(asked["out"], "w") as file:
        json.dump(made, file)


main()
