"""A text REPL for Coq that speaks as Lean's does (leanprover-community/repl); runs in the machine, on its Python.

Requests and replies are JSON, each followed by a blank line. ``{"cmd": "Theorem t : True."}`` runs a sentence; one that
states a theorem is answered with its first proof state. ``{"tactic": "auto.", "proofState": 0}`` is answered with a new
proof state and the goals that are open in it, or with a ``message`` where Coq refuses it. Every proof state stays
there: a tactic may go on from any of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree
from xml.sax.saxutils import escape

LONGEST = 16 << 20  # bytes of an answer of Coq's
SHOWN = 65536  # characters of all goals, or of all messages, in a reply
QUERIES = ("About", "Check", "Compute", "Locate", "Print", "Search", "SearchPattern", "SearchRewrite")
"""Commands that change nothing; no other is taken in a proof."""

_SELECTOR = re.compile(r"(?:\d[\d\s,-]*|all|par|!|\[\s*\w+\s*\])\s*:(?!=)\s*")
_BULLET = re.compile(r"-+|\++|\*+|[{}]")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Refused(Exception):
    """Coq, or this REPL, does not take what was asked for; the message says why."""


def sentences(text: str) -> list[str]:
    """The sentences of a text; the last one may lack its full stop.

    Raises:
        Refused: a comment or a string does not end.
    """
    found: list[str] = []
    start = at = 0
    while True:
        at = start = _skip(text, start)
        if at == len(text):
            return found
        head = _SELECTOR.match(text, at)
        bullet = _BULLET.match(text, head.end() if head else at)
        if bullet and (head is None or bullet[0] == "{"):
            found.append(text[start : bullet.end()])
            start = bullet.end()
            continue
        while at < len(text) and not _ends(text, at):
            at = _past(text, at)
        found.append(text[start : at + 1] if at < len(text) else f"{text[start:].rstrip()}.")
        start = min(at + 1, len(text))


def _skip(text: str, at: int) -> int:
    """Where the next sentence begins, after blanks and comments."""
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("(*", at):
            at = _past(text, at)
        else:
            break
    return at


def _ends(text: str, at: int) -> bool:
    """Whether the full stop that ends a sentence is here."""
    return text[at] == "." and (at + 1 == len(text) or text[at + 1].isspace())


def _past(text: str, at: int) -> int:
    """The place after the character, the string or the comment that is here."""
    if text[at] == '"':
        end = text.find('"', at + 1)
        if end < 0:
            raise Refused("a string does not end")
        return end + 1
    if not text.startswith("(*", at):
        return at + 1
    at += 2
    while at < len(text) and not text.startswith("*)", at):
        at = _past(text, at)
    if at >= len(text):
        raise Refused("a comment does not end")
    return at + 2


def refuse_commands(sentence: str) -> None:
    """Tactics begin with a small letter, commands with a capital one or an attribute.

    Raises:
        Refused: it is a command, and no query.
    """
    at = _skip(sentence, 0)
    head = _SELECTOR.match(sentence, at)
    rest = sentence[_skip(sentence, head.end() if head else at) :]
    word = re.match(r"\w*", rest)[0]  # type: ignore[index]
    if (word[:1].isupper() and word not in QUERIES) or rest.startswith("#"):
        raise Refused(
            f"{word or 'an attribute'} is a command; a proof takes tactics, bullets, braces, and {', '.join(QUERIES)}"
        )


class Coq:
    """Coq's own server for editors, over its XML protocol."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            ["coqidetop.opt", "-main-channel", "stdfds", "-q", "-async-proofs", "off"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        value = self._call('<call val="Init"><option val="none"/></call>')[0]
        self._first = value.find("state_id").get("val")  # type: ignore[union-attr]
        self._done: list[tuple[str, str]] = []  # the sentences that have been carried out, each with the state after it

    def carry_out(self, path: tuple[str, ...]) -> list[str]:
        """Be where these sentences lead; gives what Coq says of the last one. Raises Refused where one fails."""
        same = 0
        while same < min(len(path), len(self._done)) and self._done[same][0] == path[same]:
            same += 1
        self._return_to(same)
        said: list[str] = []
        for sentence in path[same:]:
            try:
                said = self._add(sentence)
            except Refused:
                self._return_to(same)
                raise
        return said

    def goals(self) -> list[str] | None:
        """The open goals, the present ones first; None where there is no proof."""
        value, _ = self._call('<call val="Goal"><unit/></call>')
        goals = value.find("option/goals")
        if goals is None:
            return None
        present, later, shelved, given_up = list(goals)
        around = [goal for pair in later.iter("pair") for goal in pair.findall("list/goal")]
        return [_goal(each) for each in (*present, *around, *shelved, *given_up)]

    def _add(self, sentence: str) -> list[str]:
        tip = self._done[-1][1] if self._done else self._first
        place = "<int>0</int></pair><pair><int>1</int><int>0</int></pair></pair>"
        value, _ = self._call(
            f'<call val="Add"><pair><pair><pair><pair><string>{escape(sentence)}</string><int>-1</int></pair><pair>'
            f'<state_id val="{tip}"/><bool val="false"/></pair></pair>{place}</call>'
        )
        self._done.append((sentence, value.find("pair/state_id").get("val")))  # type: ignore[union-attr, arg-type]
        return self._call('<call val="Goal"><unit/></call>')[1]  # has it carried out

    def _return_to(self, count: int) -> None:
        """Take back all sentences but the first ones."""
        if count < len(self._done):
            tip = self._done[count - 1][1] if count else self._first
            self._call(f'<call val="Edit_at"><state_id val="{tip}"/></call>')
            del self._done[count:]

    def _call(self, text: str) -> tuple[ElementTree.Element, list[str]]:
        """The value that Coq answers, and its messages. Raises Refused where it fails, OSError where Coq has ended."""
        channel = self._server.stdin, self._server.stdout
        assert channel[0] is not None and channel[1] is not None
        channel[0].write(text.encode())
        channel[0].flush()
        answer = b""
        while b"</value>" not in answer[-65600:]:
            piece = os.read(channel[1].fileno(), 65536)
            if not piece or len(answer) > LONGEST:
                raise OSError("Coq has ended" if not piece else f"an answer of more than {LONGEST} bytes")
            answer += piece
        answer = _CONTROL.sub(b"?", answer.replace(b"&nbsp;", b" "))
        root = ElementTree.fromstring(b"<answer>" + answer + b"</answer>")
        value = root.find("value")
        assert value is not None
        if value.get("val") != "good":
            raise Refused("".join(value.itertext()).strip() or "Coq does not take it")
        levels = root.iter("message")
        said = ["".join(message.itertext()) for message in levels if message.find("message_level") is not None]
        return value, [text.strip() for text in said]


def _goal(goal: ElementTree.Element) -> str:
    assumptions, conclusion = goal.findall("list")[0], goal.find("richpp")
    lines = ["".join(each.itertext()) for each in assumptions]
    return "\n".join([*lines, f"⊢ {''.join(conclusion.itertext()) if conclusion is not None else ''}"])


def _cut(texts: list[str]) -> list[str]:
    """The texts, ``SHOWN`` characters of them in all, and what was left out."""
    kept: list[str] = []
    room = SHOWN
    for k, text in enumerate(texts):
        if len(text) > room:
            left = sum(map(len, texts[k:])) - room
            return [*kept, f"{text[:room]} [... {left} more characters]"]
        kept.append(text)
        room -= len(text)
    return kept


class Repl:
    """Answers requests.

    Attributes:
        states: the sentences that lead to each proof state.
        setting: the sentences before the proof.
    """

    def __init__(self) -> None:
        self._coq = Coq()
        self.setting: tuple[str, ...] = ()
        self.states: list[tuple[str, ...]] = []
        self._environments = 0

    def answer(self, request: object) -> dict[str, object]:
        """What a request is answered with. Raises OSError where Coq has ended."""
        if not isinstance(request, dict):
            return {"message": "a request is a JSON object"}
        try:
            if isinstance(request.get("cmd"), str):
                return self._command(request["cmd"])
            tactic, number = request.get("tactic"), request.get("proofState")
            if not isinstance(tactic, str) or not isinstance(number, int):
                return {"message": "a request has cmd, or tactic and proofState"}
            if not 0 <= number < len(self.states):
                return {"message": "Unknown proof state."}
            return self._tactic(tactic, self.states[number])
        except Refused as error:
            return {"message": f"Coq error:\n{_cut([str(error)])[0]}"}

    def _command(self, text: str) -> dict[str, object]:
        path = (*self.setting, *sentences(text))
        self._coq.carry_out(path)
        self.setting, goals = path, self._coq.goals()
        self._environments += 1
        reply: dict[str, object] = {"env": self._environments - 1}
        if goals is not None:
            self.states.append(path)
            reply["sorries"] = [{"proofState": len(self.states) - 1, "goal": _cut(["\n\n".join(goals)])[0]}]
        return reply

    def _tactic(self, tactic: str, path: tuple[str, ...]) -> dict[str, object]:
        given = sentences(tactic)
        if not given:
            raise Refused("there is no tactic")
        for sentence in given:
            refuse_commands(sentence)
        said = self._coq.carry_out((*path, *given))
        goals = self._coq.goals()
        if goals is None:
            raise Refused("the proof is left")
        path = (*path, *given)
        reply: dict[str, object] = {}
        if not goals:
            try:
                self._coq.carry_out((*path, "Qed."))
            except Refused as error:
                reply["proofStatus"] = f"Error: {_cut([str(error)])[0]}"
            else:
                reply["proofStatus"] = "Completed"
            self._coq.carry_out(path)
        self.states.append(path)
        reply |= {"proofState": len(self.states) - 1, "goals": _cut(goals)}
        if said:
            reply["messages"] = [{"severity": "info", "data": text} for text in _cut(said)]
        return reply


def main() -> None:
    """Answer what comes on standard input, until it ends."""
    repl = Repl()
    lines: list[str] = []
    for line in sys.stdin:
        if line.strip():
            lines.append(line)
            continue
        if lines:
            print(json.dumps(repl.answer(json.loads("".join(lines))), ensure_ascii=False), end="\n\n", flush=True)
        lines = []


if __name__ == "__main__":
    main()
