import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "envs" / "machines"))

from image_files import WHY_NOT, fake_mmdebstrap, hand_made_image

from deskgym.envs.machines.image import load_recipe, store

pytestmark = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="needs qemu-img (package qemu-utils)")


@pytest.fixture
def images(tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(store, "cache_folder", lambda: cache)
    return store.images_folder()


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_build_prints_time_and_sizes_and_then_that_it_is_there(cli, images, tmp_path, monkeypatch):
    fake_mmdebstrap(tmp_path / "fake", monkeypatch)
    (tmp_path / "toy.yaml").write_text("name: toy\ndisk_mb: 512\n")
    status, out, err = cli("image", "build", str(tmp_path / "toy.yaml"))
    assert (status, err) == (0, "")
    assert out.startswith("built toy-") and " s: disk.qcow2 " in out and out.count("\n") == 1
    status, out, err = cli("image", "build", str(tmp_path / "toy.yaml"))
    assert (status, err) == (0, "") and " is built already; " in out
    status, out, err = cli("image", "build", str(tmp_path / "toy.yaml"), "--force", "--json")
    data = json.loads(out)
    assert (status, err, data["recipe"], data["new"]) == (0, "", "toy", True)
    (tmp_path / "fake/behaviour").write_text("unknown")
    status, out, err = cli("image", "build", str(tmp_path / "toy.yaml"), "--force")
    assert (status, out) == (1, "") and err.count("\n") == 1 and "has no package 'frobnicator'" in err
    assert cli("image", "check", "toy")[0] == 0  # the one before is still there


def test_build_of_a_wrong_recipe_is_one_line(cli, images, tmp_path):
    (tmp_path / "toy.yaml").write_text("name: toy\npackage: [jq]\n")
    status, out, err = cli("image", "build", str(tmp_path / "toy.yaml"))
    assert (status, out) == (1, "")
    assert err.startswith(f"deskgym: {tmp_path}/toy.yaml: the recipe has an unknown key 'package'")
    status, out, err = cli("image", "build", "sience")
    assert status == 1 and "did you mean 'science'" in err and err.count("\n") == 1


def test_list_is_empty_then_a_table_then_json(cli, images):
    assert cli("image", "list") == (0, "no image is built; `deskgym image build science` builds one\n", "")
    hand_made_image(images)
    hand_made_image(images, "science", "aaaaaaaaaaaa")
    hand_made_image(images, "science", load_recipe("science").hash)
    status, out, err = cli("image", "list")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert rows["toy-0123456789ab"].endswith("your own")
    assert rows["science-aaaaaaaaaaaa"].endswith("older")
    assert rows[load_recipe("science").full_name].endswith("present")
    entries = json.loads(cli("image", "list", "--json")[1])
    assert [entry["recipe_is"] for entry in entries if entry["recipe"] == "science"] == ["older", "present"] or len(
        entries
    )
    assert {entry["recipe_is"] for entry in entries} == {"your own", "older", "present"}


def test_check_has_status_1_when_an_image_is_damaged(cli, images):
    assert cli("image", "check") == (0, "no image is built\n", "")
    hand_made_image(images, "good")
    bad = hand_made_image(images, "bad")
    (bad / "vmlinuz").write_bytes(b"Kernel")
    status, out, _ = cli("image", "check")
    assert status == 1
    assert "good-0123456789ab: ok\n" in out and "vmlinuz: got sha256" in out
    assert cli("image", "check", "good") == (0, "good-0123456789ab: ok\n", "")
    (bad / "manifest.json").unlink()
    status, out, _ = cli("image", "check", "--json")
    assert status == 1
    assert {entry["name"]: entry["ok"] for entry in json.loads(out)} == {
        "good-0123456789ab": True, "bad-0123456789ab": False,
    }  # fmt: skip
    status, _, err = cli("image", "check", "god")
    assert status == 1 and "did you mean 'good'" in err


def test_remove_takes_a_name_or_all_old_ones(cli, images):
    hand_made_image(images)
    hand_made_image(images, "science", "aaaaaaaaaaaa")
    present = hand_made_image(images, "science", load_recipe("science").hash)
    status, out, err = cli("image", "remove", "tou")
    assert (status, out) == (1, "") and "did you mean 'toy'" in err
    assert cli("image", "remove", "--all-old") == (0, "removed science-aaaaaaaaaaaa\n", "")
    assert cli("image", "remove", "--all-old") == (0, "no image is of an older stock recipe\n", "")
    assert cli("image", "remove", "toy") == (0, "removed toy-0123456789ab\n", "")
    assert [path.name for path in images.iterdir()] == [present.name]


@pytest.mark.parametrize("argv", [["remove"], ["remove", "toy", "--all-old"], [], ["biuld", "science"], ["build"]])
def test_wrong_usage_has_status_2(cli, images, argv):
    status, out, err = cli("image", *argv)
    assert (status, out) == (2, "") and err.count("\n") == 1
