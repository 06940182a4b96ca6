"""Print as JSON what is in the boxes and what was sent, as rows of tables; run in the companion.

Whether a letter has been read is left out: reading changes nothing that anybody asks about.
"""

import json
import re
import sys
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import getaddresses
from pathlib import Path

HOME = Path("/var/lib/deskgym-mail")
MOST = 1000
"""Letters that are looked at; more than that is no state that a task asks for."""
SIZE = 1 << 20
ORIGINAL = "-------- Original Message --------"
EXTRAS = ("X-Priority", "Disposition-Notification-To", "Return-Receipt-To")
FLAGS = {"F": "flagged", "R": "answered", "D": "draft", "T": "deleted"}


def main():
    """Print it all."""
    outgoing = [row_of(path) for path in files(HOME / "outbox")]
    sent = {row["id"] for row in outgoing}
    letters, folders = [], []
    for box in sorted(path for path in (HOME / "boxes").iterdir() if path.is_dir()):
        places = [box, *sorted(path for path in box.iterdir() if path.name.startswith(".") and path.is_dir())]
        for place in places:
            folder = "INBOX" if place == box else place.name[1:].replace(".", "/")
            folders.append({"box": box.name, "name": folder, "listed": folder == "INBOX" or folder in listed(box)})
            words = keywords(place)
            for path in files(place):
                row = {"box": box.name, "folder": folder, **row_of(path), **flags_of(path, words)}
                if not (folder == "Sent" and row["id"] in sent):  # what was sent is kept there by itself
                    letters.append(row)
    if len(letters) + len(outgoing) > MOST:
        raise SystemExit(f"there are {len(letters) + len(outgoing)} letters; at most {MOST} are looked at")
    json.dump({"letters": letters, "outgoing": outgoing, "folders": folders}, sys.stdout)


def files(place):
    """The letters of a Maildir folder."""
    return sorted(path for part in ("cur", "new") for path in (place / part).glob("*") if path.is_file())


def listed(box):
    """The folders that the owner sees."""
    path = box / "subscriptions"
    return path.read_text().replace("\t", "/").splitlines() if path.is_file() else []


def keywords(place):
    """The words that Dovecot gives to the small letters at the end of a name."""
    path = place / "dovecot-keywords"
    lines = path.read_text().splitlines() if path.is_file() else []
    return {chr(ord("a") + int(number)): word for number, word in (line.split(" ", 1) for line in lines)}


def flags_of(path, words):
    """Which of the flags a letter has, and which words: its name ends with their letters."""
    info = path.name.rpartition(":2,")[2] if ":2," in path.name else ""
    marks = {name: letter in info for letter, name in FLAGS.items()}
    return {**marks, "keywords": ", ".join(sorted(word for letter, word in words.items() if letter in info))}


def row_of(path):
    """Who wrote what to whom."""
    with path.open("rb") as file:
        message = BytesParser(EmailMessage, policy=policy.default).parse(file)
    envelope = message["X-RcptTo"]
    body = message.get_body(("plain", "html"))
    content = body.get_content()[:SIZE] if body is not None else ""
    if body is not None and body.get_param("format") == "flowed":
        content = unwrapped(content)
    above, _, below = content.partition(ORIGINAL)
    return {
        "id": str(message["Message-ID"] or ""),
        "sender": addresses(message, "From"),
        "to": addresses(message, "To"),
        "cc": addresses(message, "Cc"),
        "received": ", ".join(sorted(str(envelope).split(", "))) if envelope else "",
        "subject": str(message["Subject"] or ""),
        "text": tidy(above),
        "original": tidy(below),
        "reply_to": str(message["In-Reply-To"] or ""),
        "extras": ", ".join(name for name in EXTRAS if message[name]),
        "attachments": ", ".join(part.get_filename("") for part in message.iter_attachments()),
    }


def addresses(message, header):
    """The addresses of a header, without the names."""
    return ", ".join(sorted(address for _, address in getaddresses(map(str, message.get_all(header, [])))))


def unwrapped(text):
    """Flowed text (RFC 3676) with its lines as they were written."""
    return re.sub(r"(?<!\n--) \r?\n", " ", "\n".join(line.removeprefix(" ") for line in text.splitlines()) + "\n")


def tidy(text):
    """A text without the white space at the ends of its lines and its own."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").splitlines()).strip()


if __name__ == "__main__":
    main()
