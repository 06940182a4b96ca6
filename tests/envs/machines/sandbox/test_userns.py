"""Id maps, and the merging of layers (which needs no namespace to be tested)."""

import os

import pytest

from deskgym.envs.machines import userns
from deskgym.envs.machines.sandbox import layers as sandbox_layers
from deskgym.envs.machines.userns import IdMap, IdRange, NoIdsError


def test_maps_survive_the_command_line():
    ids = IdMap((IdRange(0, 1000, 1), IdRange(1, 100000, 65536)), (IdRange(0, 5, 7),))
    assert IdMap.from_json(ids.to_json()) == ids and ids.root == (1000, 5)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", None),
        ("somebody:100000:65536", None),
        ("{uid}:100000:65536", (100000, 65536)),
        ("{uid}:100000:10\n{uid}:200000:65536", (200000, 65536)),
        ("{uid}:x:y\nnonsense", None),
    ],
)
def test_subordinate_ids(monkeypatch, tmp_path, content, expected):
    path = tmp_path / "subuid"
    path.write_text(content.format(uid=os.geteuid()))
    real = open
    monkeypatch.setattr("builtins.open", lambda name, *a, **k: real(path if name == "/etc/subuid" else name, *a, **k))
    assert userns.subordinate_ids("uid") == expected


def test_an_ordinary_user_without_ids_is_told_the_command(monkeypatch):
    monkeypatch.setattr(userns, "subordinate_ids", lambda kind: None)
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(NoIdsError, match="sudo usermod --add-subuids 100000-165535"):
        userns.id_map()


def test_root_of_a_small_namespace_takes_the_upper_half(monkeypatch, tmp_path):
    path = tmp_path / "uid_map"
    path.write_text("0 100000 65536\n")
    real = open
    monkeypatch.setattr(userns, "subordinate_ids", lambda kind: None)
    monkeypatch.setattr("builtins.open", lambda name, *a, **k: real(path if "uid_map" in str(name) else name, *a, **k))
    assert userns._roots_ids("uid") == (IdRange(0, 32768, 32768),)


def tree(path):
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))


def test_merge(tmp_path):
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    for name in ("kept/deep", "both", "replaced/old", "was-folder/x"):
        (lower / name).mkdir(parents=True)
    (lower / "both/low").write_text("low")
    (lower / "both/changed").write_text("low")
    (lower / "was-file").write_text("low")
    (lower / "link").symlink_to("nowhere")
    for name in ("both/new", "replaced/new", "was-file"):
        (upper / name).mkdir(parents=True)
    (upper / "both/changed").write_text("up")
    (upper / "was-folder").write_text("up")
    os.setxattr(upper / "replaced", sandbox_layers.OPAQUE, b"y")
    sandbox_layers.merge(str(lower), str(upper))
    assert tree(upper) == [
        "both", "both/changed", "both/low", "both/new", "kept", "kept/deep", "link", "replaced", "replaced/new",
        "was-file", "was-folder",
    ]  # fmt: skip
    assert (upper / "both/changed").read_text() == "up" and (upper / "both/low").stat().st_nlink == 2
    assert sandbox_layers.is_opaque(str(upper / "was-file")) and not sandbox_layers.is_opaque(str(upper / "both"))
    assert (upper / "link").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a whiteout, which only root can make outside a namespace")
def test_merge_keeps_whiteouts(tmp_path):
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    for path in (lower, upper):
        path.mkdir()
    os.mknod(lower / "deleted-below", 0o20000, os.makedev(0, 0))
    os.mknod(lower / "comes-back", 0o20000, os.makedev(0, 0))
    (lower / "deleted-now").touch()
    os.mknod(upper / "deleted-now", 0o20000, os.makedev(0, 0))
    (upper / "comes-back").mkdir()
    sandbox_layers.merge(str(lower), str(upper))
    assert (upper / "deleted-below").is_char_device() and (upper / "deleted-now").is_char_device()
    assert sandbox_layers.is_opaque(str(upper / "comes-back"))
