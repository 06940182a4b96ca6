"""Fill the boxes through the running IMAP server, and Roundcube's database; run once, when the layer is built."""

import imaplib
import sqlite3
import sys
from email.message import EmailMessage
from email.utils import format_datetime

import letters

HOME = "/var/lib/deskgym-mail"
OWNERS = f"{letters.OWNER}@{letters.DOMAIN}"
SQL = "/usr/share/roundcube/SQL/sqlite.initial.sql"
CREATED = letters.company.EPOCH.strftime("%Y-%m-%d %H:%M:%S")


def as_message(letter, key):
    """What is delivered."""
    message = EmailMessage()
    message["From"] = f"{letter['name']} <{letter['address']}>"
    message["To"] = f"{letters.company.EMPLOYEES[letters.OWNER]} <{OWNERS}>"
    message["Subject"] = letter["subject"]
    message["Date"] = format_datetime(letter["sent"])
    message["Message-ID"] = f"<{key}@{letters.DOMAIN}>"
    message.set_content(letter["text"])
    return bytes(message)


def fill_boxes(password):
    """Append all letters, so that the number of each in the inbox is its UID."""
    with imaplib.IMAP4("127.0.0.1", 10143) as imap:
        imap.login(letters.OWNER, password)
        for name in letters.FOLDERS:
            imap.create(name)
            imap.subscribe(name)
        for letter in (*letters.inbox(), *letters.filed()):
            folder = letter.get("folder", "INBOX")
            seen = r"(\Seen)" if letter["number"] % 3 or folder != "INBOX" else ""
            when = imaplib.Time2Internaldate(letter["sent"])
            message = as_message(letter, f"{folder.lower()}-{letter['number']}")
            status, said = imap.append(folder, seen, when, message)
            if status != "OK":
                raise SystemExit(f"{folder}: {said}")


def fill_database(path):
    """The owner, her identity and her address book."""
    with sqlite3.connect(path) as database:
        database.executescript(open(SQL).read())
        database.execute(
            "INSERT INTO users (username, mail_host, created, language) VALUES (?, '127.0.0.1', ?, 'en_US')",
            (OWNERS, CREATED),
        )
        database.execute(
            "INSERT INTO identities (user_id, changed, standard, name, email) VALUES (1, ?, 1, ?, ?)",
            (CREATED, letters.company.EMPLOYEES[letters.OWNER], OWNERS),
        )
        database.executemany(
            "INSERT INTO contacts (user_id, changed, name, email, firstname, surname, vcard, words)"
            " VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    CREATED, entry["name"], entry["address"], entry["first"], entry["last"],
                    f"BEGIN:VCARD\r\nVERSION:3.0\r\nN:{entry['last']};{entry['first']};;;\r\nFN:{entry['name']}\r\n"
                    f"EMAIL;TYPE=INTERNET:{entry['address']}\r\nEND:VCARD",
                    f" {entry['name'].lower()} {entry['address']} ",
                )
                for entry in letters.contacts()
            ],
        )  # fmt: skip


if __name__ == "__main__":
    fill_boxes(open(f"{HOME}/secret").read().strip())
    fill_database(sys.argv[1])
