"""A small shop for tests: an HTTP server over a SQLite file, of the standard library alone."""

import textwrap

from deskgym.envs.provision.services import Daemon, Files, Ready, ServiceSpec, Sqlite

PORT = 8080
DATABASE = "/var/lib/shop/shop.sqlite"
SERVER = textwrap.dedent("""
    import http.server, json, os, sqlite3, sys, time, urllib.parse

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, content, kind="application/json"):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(url.query))
            if url.path == "/slow":
                open("/tmp/slow", "w").close()
                time.sleep(float(query["seconds"]))
            if url.path == "/news":
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for k in range(100):
                    self.wfile.write(b"data: %d\\n\\n" % k)
                    time.sleep(0.1)
                return
            if url.path == "/page":
                return self.answer(200, b"<title>Shop</title><h1>Orders</h1>", "text/html")
            if url.path == "/form":
                return self.answer(200, b"<form method=post action=/><input id=item name=item><button>Order</button>",
                    "text/html")
            if url.path == "/cookies":
                return self.answer(200, self.headers.get("Cookie", "none").encode(), "text/html")
            if url.path == "/crash":
                print("the shop has burnt down", file=sys.stderr, flush=True)
                os._exit(3)
            with sqlite3.connect(sys.argv[1]) as shop:
                rows = shop.execute("SELECT id, item FROM orders ORDER BY id").fetchall()
            self.answer(200, json.dumps(rows).encode())

        def do_POST(self):
            if self.headers.get("Authorization") != "Bearer " + os.environ["SHOP_TOKEN"] and self.path == "/admin":
                return self.answer(403, b"no")
            item = self.rfile.read(int(self.headers["Content-Length"])).decode()
            with sqlite3.connect(sys.argv[1]) as shop:
                shop.execute("INSERT INTO orders (item) VALUES (?)", (item,))
            with open("/var/lib/shop/orders.log", "a") as log:
                log.write(item + "\\n")
            if item.startswith("item="):
                self.send_response(303)
                self.send_header("Location", "/page?thanks")
                self.send_header("Set-Cookie", "visits=1; Path=/")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.answer(201, b"{}")

        def log_message(self, *ignored):
            pass

    print("the shop is open", file=sys.stderr, flush=True)
    http.server.ThreadingHTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
    """)
SEED = textwrap.dedent(f"""
    import os, sqlite3
    with sqlite3.connect("{DATABASE}") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)")
        shop.executemany("INSERT INTO orders (item) VALUES (?)", [("tea",), ("salt",)])
    os.chmod("{DATABASE}", 0o600)
    open("/var/lib/shop/orders.log", "w").close()
    """)

SHOP = ServiceSpec(
    name="shop",
    files=(("/var/lib/shop/server.py", SERVER), ("/var/lib/shop/seed.py", SEED)),
    before=(("python3", "/var/lib/shop/seed.py"),),
    daemons=(Daemon(("python3", "/var/lib/shop/server.py", DATABASE), Ready(port=PORT, http="/page")),),
    ports=(PORT,),
    data=(Sqlite(DATABASE), Files("/var/lib/shop/orders.log")),
    watch=("/var/lib/shop/server.py",),
    secrets=("SHOP", "SHOP_TOKEN"),
    uncounted=("/poll*",),
    memory_mb=256,
    disk_mb=64,
    processes=64,
)
