import os

import pytest

from deskgym.envs.errors import GuestCallError


def test_a_file_goes_in_and_comes_out(headless):
    path = f"{headless.home}/a/b/file"
    for data in (b"", b"short", os.urandom(20 << 20)):
        headless.put(path, data)
        assert headless.get(path) == data
    headless.put(path, b"#!", mode=0o755)
    status = headless.guest.stat(path)
    assert (status["type"], status["size"], status["mode"]) == ("file", 2, 0o755)


def test_the_limit_of_a_file_is_kept(headless):
    path = f"{headless.home}/large"
    headless.put(path, b"x" * 100)
    assert len(headless.get(path, limit=100)) == 100
    with pytest.raises(GuestCallError, match="larger than 99") as error:
        headless.get(path, limit=99)
    assert error.value.kind == "FileTooLarge"


def test_only_regular_files_are_read(headless):
    os.mkfifo(headless.home / "fifo")
    for path in (f"{headless.home}/fifo", "/dev/zero", str(headless.home), f"{headless.home}/missing"):
        with pytest.raises(GuestCallError):
            headless.get(path)
    assert headless.get("/proc/self/comm") != b""
    with pytest.raises(GuestCallError, match="not an absolute path"):
        headless.get("relative")


def test_a_folder_goes_in_and_comes_out(headless, tmp_path):
    source = tmp_path / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "deep" / "er" / "ünïcode name").write_bytes(b"1")
    (source / "script").write_bytes(b"2")
    (source / "script").chmod(0o755)
    (source / "large").write_bytes(os.urandom(9 << 20))
    for k in range(1200):
        (source / f"many{k}").write_text(str(k))
    (source / "link").symlink_to("/etc/passwd")
    target = f"{headless.home}/folder"
    headless.put(target, source)
    assert headless.guest.stat(f"{target}/script")["mode"] == 0o755
    os.symlink("/etc", headless.home / "folder" / "etc")
    os.symlink("/etc/passwd", headless.home / "folder" / "passwd")
    copy = tmp_path / "copy"
    headless.get_folder(target, copy)
    names = {path.relative_to(source).as_posix() for path in source.rglob("*")} - {"link"}
    assert {path.relative_to(copy).as_posix() for path in copy.rglob("*")} == names
    assert (copy / "large").read_bytes() == (source / "large").read_bytes()
    assert (copy / "deep" / "er" / "ünïcode name").read_bytes() == b"1"
    with pytest.raises(GuestCallError, match="larger than 1000"):
        headless.get_folder(target, tmp_path / "cut", limit=1000)


def test_a_host_file_keeps_its_mode(headless, tmp_path):
    (tmp_path / "tool").write_bytes(b"#!/bin/sh\necho $1\n")
    (tmp_path / "tool").chmod(0o755)
    headless.put(f"{headless.home}/tool", tmp_path / "tool")
    assert headless.run([f"{headless.home}/tool", "ran"]).stdout == b"ran\n"


def test_names_that_lead_out_are_refused(headless):
    for name in ("../out", "/etc/x", "a/../../b", "", "a//b", "a\0b"):
        with pytest.raises(GuestCallError, match="plain relative path"):
            headless.guest.call("write_many", path=str(headless.home), entries=[(name, 0o644, b"")])


def test_listing_does_not_follow_links(headless):
    folder = headless.home / "listed"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").write_bytes(b"123")
    (folder / "up").symlink_to("/")
    found = {entry["name"]: entry["type"] for entry in headless.guest.list(str(folder), recursive=True)}
    assert found == {"sub": "folder", "sub/file": "file", "up": "link"}
    assert headless.guest.exists(f"{folder}/up") and not headless.guest.exists(f"{folder}/nothing")
