"""gVisor's files of checkpoints are stored without compression, byte for byte the same to whoever inflates them."""

import json
import os
import struct
import zlib

import pytest

from deskgym.envs.machines.sandbox import statefile

CHUNK = 1 << 16
PLAIN = [os.urandom(CHUNK), bytes(CHUNK), b"the last is shorter"]


def deflated(plain):
    compressor = zlib.compressobj(1, wbits=-15)
    return compressor.compress(plain) + compressor.flush()


def written(chunks, mapping=None, magic=b"gVisorSF", size=CHUNK):
    about = json.dumps(mapping or {"_timestamp": "now"}).encode()
    parts = [magic, struct.pack(">Q", len(about)), about, bytes(range(32)), struct.pack(">I", size)]
    return b"".join([*parts, *(struct.pack(">I", len(chunk)) + chunk for chunk in chunks)])


def inflated(data, head):
    chunks, at = [], head
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        chunks.append(zlib.decompress(data[at + 4 : at + 4 + length], -15))
        at += 4 + length
    return chunks


def test_what_is_in_it_stays_and_is_compressed_no_more(tmp_path):
    path = tmp_path / "checkpoint.img"
    before = written(map(deflated, PLAIN * 20))
    path.write_bytes(before)
    path.chmod(0o640)
    head = len(written([]))
    assert statefile.store(path)
    after = path.read_bytes()
    assert after[:head] == before[:head] and inflated(after, head) == PLAIN * 20
    assert len(after) > 20 * sum(map(len, PLAIN))
    assert path.stat().st_mode & 0o777 == 0o640 and os.listdir(tmp_path) == ["checkpoint.img"]
    assert statefile.store(path) and path.read_bytes() == after


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"gVisorSF",
        written(map(deflated, PLAIN), magic=b"gVisorXX"),
        written(map(deflated, PLAIN), mapping={"compression": "none"}),
        written(map(deflated, PLAIN), size=0),
        written(map(deflated, PLAIN), size=100),
        written([b"\xff\xff\xff"]),
        written([deflated(b"one") + b"more"]),
        written([deflated(PLAIN[0])[:-20]]),
        written(map(deflated, PLAIN))[:-3],
        written(map(deflated, PLAIN)) + b"\x00\x00",
        written([]) + b"\xff\xff\xff\xff",
    ],
    ids=["empty", "only its name", "another magic", "another release", "no chunks", "larger chunks", "no deflate",
         "more after a chunk", "half a chunk", "cut off", "half a length", "a length of 4 GiB"],
)  # fmt: skip
def test_what_is_of_another_format_stays_as_it_is(tmp_path, data):
    path = tmp_path / "checkpoint.img"
    path.write_bytes(data)
    assert not statefile.store(path)
    assert path.read_bytes() == data and os.listdir(tmp_path) == ["checkpoint.img"]


def test_a_bomb_fills_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(statefile, "LARGEST", 10 * CHUNK)
    path = tmp_path / "checkpoint.img"
    path.write_bytes(written([deflated(bytes(CHUNK))] * 1000))
    assert not statefile.store(path) and path.stat().st_size < CHUNK * 10


def test_links_and_fifos_are_not_opened(tmp_path):
    path = tmp_path / "checkpoint.img"
    os.mkfifo(path)
    assert not statefile.store(path)
    path.unlink()
    secret = tmp_path / "secret"
    secret.write_bytes(written(map(deflated, PLAIN)))
    path.symlink_to(secret)
    with pytest.raises(OSError):
        statefile.store(path)
    assert secret.read_bytes() == written(map(deflated, PLAIN))


def test_without_room_it_says_so_and_stays(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.img"
    path.write_bytes(written(map(deflated, PLAIN)))

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(statefile, "_copy", full)
    with pytest.raises(OSError, match="No space left"):
        statefile.store(path)
    assert path.read_bytes() == written(map(deflated, PLAIN)) and os.listdir(tmp_path) == ["checkpoint.img"]
