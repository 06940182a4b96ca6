"""Hooks that speak to services, on a real desktop with a real companion beside it."""

import pytest

from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.calls import HostFile
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites.hooks import files, programs, services

pytestmark = pytest.mark.sandbox


def that(**data):
    return Predicate.parse(data)


def items(setup):
    return [row["item"] for row in setup.companion("shop").sql("SELECT item FROM orders")]


def test_calls_of_the_api(setup):
    services.http(setup, "shop", "/", "POST", body="coffee", expect=201)
    services.http(setup, "shop", "/admin", "POST", json={"a": 1}, headers={"Authorization": "Bearer $SHOP_TOKEN"})
    assert items(setup)[-2:] == ["coffee", '{"a": 1}']
    services.http(setup, "shop", "/", that=that(contains="coffee"))
    with pytest.raises(
        SetupError, match=r"POST /admin of the service 'shop', not as awaited: answered with 403, not 200 to 399: 'no'"
    ):
        services.http(setup, "shop", "/admin", "POST", body="x")
    with pytest.raises(SetupError, match=r"GET / .*awaited is .*nowhere"):
        services.http(setup, "shop", "/", that=that(contains="nowhere"))
    with pytest.raises(SetupError, match="port 81"):
        services.http(setup, "shop", "/", port=81)
    with pytest.raises(SetupError, match="no service 'shoe'; it has shop"):
        services.http(setup, "shoe", "/")


def test_statements(setup):
    services.sql(setup, "shop", "INSERT INTO orders (item) VALUES ('soap')")
    assert items(setup)[-1] == "soap"
    with pytest.raises(SetupError, match="no such table: nowhere"):
        services.sql(setup, "shop", "DELETE FROM nowhere")


def test_waiting(setup):
    late = (
        "import sqlite3, time; time.sleep(0.3); shop = sqlite3.connect('/var/lib/shop/shop.sqlite'); "
        "shop.execute('INSERT INTO orders (item) VALUES (?)', ('late',)); shop.commit()"
    )
    programs.run(setup, f'python3 -c "{late}" >/dev/null 2>&1 &', in_="shop")
    services.wait_for_sql(setup, "shop", "SELECT 1 FROM orders WHERE item = 'late'", timeout=20)
    services.wait_for_sql(
        setup, "shop", "SELECT count(*) AS n FROM orders", that(some={"has": {"n": {"between": [3, 99]}}})
    )
    services.http(setup, "shop", "/", that=that(contains="late"), wait=True)
    with pytest.raises(SetupError, match=r"not as awaited within 2 s: the rows are \[\]; awaited is at least one"):
        services.wait_for_sql(setup, "shop", "SELECT 1 FROM orders WHERE item = 'never'", timeout=2)
    with pytest.raises(SetupError, match=r"not as awaited within 2 s: answered with 200, not 404"):
        services.http(setup, "shop", "/page", expect=404, wait=True, timeout=2)


def test_downloads(setup):
    services.http(setup, "shop", "/page", to="/home/user/page.html")
    assert setup.machine.get("/home/user/page.html") == b"<title>Shop</title><h1>Orders</h1>"
    with pytest.raises(SetupError, match="is not below /home/user"):
        services.http(setup, "shop", "/page", to="/etc/page.html")


def test_files_and_commands_in_a_companion(setup, tmp_path):
    (tmp_path / "data.csv").write_text("1,2")
    files.copy(setup, HostFile(tmp_path / "data.csv"), "/var/lib/shop/data.csv", in_="shop")
    files.write(setup, "/var/lib/shop/script", "#!/bin/sh\ncat data.csv; id -un", executable=True, in_="shop")
    programs.run(setup, "./script > found", cwd="/var/lib/shop", in_="shop")
    assert setup.companion("shop").get("/var/lib/shop/found") == b"1,2user\n"
    programs.run(setup, "id -un > /tmp/who", in_="shop", user="daemon")
    assert setup.companion("shop").get("/tmp/who") == b"daemon\n"
    assert setup.machine.run(["ls", "/var/lib/shop"]).returncode != 0
    with pytest.raises(SetupError, match="no service 'shoe'"):
        files.write(setup, "/tmp/x", "x", in_="shoe")


def test_commands_on_the_desktop_as_another_user(setup):
    programs.run(setup, ["sh", "-c", "id -u > /tmp/guest"], user="guest")
    assert setup.machine.get("/tmp/guest") == b"0\n"
    programs.run(setup, ["sh", "-c", "test $(id -un) = user"])
