"""Compiles a LaTeX document in a folder and prints as JSON its error, the text of its pages, and how they look."""

import hashlib
import json
import os
import pathlib
import resource
import subprocess
import sys

folder, name, looks = sys.argv[1:]
os.chdir(folder)
os.environ |= {"openin_any": "p", "openout_any": "p", "shell_escape": "f", "SOURCE_DATE_EPOCH": "0", "HOME": "/tmp"}
resource.setrlimit(resource.RLIMIT_FSIZE, (32 << 20, 32 << 20))
stem = name.removesuffix(".tex")
FIRST = r"\AtBeginDocument{\hyphenpenalty10000\exhyphenpenalty10000\tolerance10000}"
LATEX = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", f"-jobname={stem}"]


def run(*argv):
    """Why a program failed: TeX's first error, or what it wrote last; an empty text where it did not fail."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not end within 30 s"
    if done.returncode == 0:
        return ""
    said = done.stdout.decode(errors="replace")
    first = said.find("\n!")
    return (said[first : first + 400] if first >= 0 else said[-400:]).strip() or f"it ended with {done.returncode}"


def typeset():
    """Why it cannot be typeset, or an empty text."""
    for number in range(3):
        if error := run(*LATEX, FIRST + rf"\input{{{name}}}"):
            return error
        aux = pathlib.Path(f"{stem}.aux").read_text(errors="replace")
        if number == 0 and r"\bibdata" in aux and (error := run("bibtex", stem)):
            return error
    return "" if pathlib.Path(f"{stem}.pdf").exists() else "it has no pages"


def page(path):
    """A digest of a page's pixels."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


made = {"error": typeset(), "text": "", "looks": []}
if not made["error"]:
    made["error"] = run("pdftotext", f"{stem}.pdf", "/tmp/pages.txt")
if not made["error"]:
    made["text"] = pathlib.Path("/tmp/pages.txt").read_text(errors="replace")
if not made["error"] and looks == "1":
    made["error"] = run("pdftoppm", "-gray", "-r", "60", f"{stem}.pdf", "/tmp/page")
    made["looks"] = [page(path) for path in sorted(pathlib.Path("/tmp").glob("page-*.pgm"))]
print(json.dumps(made))
