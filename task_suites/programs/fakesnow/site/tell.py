"""Sends the server's door one word, such as "reset", and prints the answer."""

import os
import sys
from urllib.request import Request, urlopen

address = f"http://127.0.0.1:{os.environ['FAKESNOW_PORT']}/deskgym"
asked = Request(address, data=b'{"do": "%s"}' % sys.argv[1].encode(), headers={"X-Key": os.environ["FAKESNOW_KEY"]})
with urlopen(asked, timeout=30) as answer:
    print(answer.read().decode())
