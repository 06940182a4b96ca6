import dataclasses
import json
import shutil
import statistics
import time

import pytest
from image_files import hand_made_image

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image import (
    Image,
    find_image,
    image_folders,
    list_images,
    load_recipe,
    remove_image,
    store,
)

pytestmark = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="needs qemu-img (package qemu-utils)")


@pytest.fixture
def images(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path)
    return store.images_folder()


def refused(call, *arguments, kind):
    with pytest.raises(MachineError) as caught:
        call(*arguments)
    assert caught.value.kind == kind
    return str(caught.value)


def test_an_image_is_found_by_name_full_name_and_path(images):
    folder = hand_made_image(images)
    for name in ("toy", "toy-0123456789ab", str(folder), folder):
        image = find_image(name)
        assert (image.name, image.hash, image.folder) == ("toy", "0123456789ab", folder)
    assert (image.python, image.resolution, image.full_name) == ("3.11", (1280, 720), folder.name)
    assert all(path.is_file() for path in (image.disk, image.kernel, image.initrd))
    with pytest.raises(dataclasses.FrozenInstanceError):
        image.name = "other"


def test_the_newest_of_a_name_is_taken(images):
    hand_made_image(images, digest="aaaaaaaaaaaa", built="2026-01-02T00:00:00+00:00")
    hand_made_image(images, digest="bbbbbbbbbbbb", built="2026-01-03T00:00:00+00:00")
    hand_made_image(images, digest="cccccccccccc", built="2026-01-01T00:00:00+00:00")
    hand_made_image(images, name="other")
    assert find_image("toy").hash == "bbbbbbbbbbbb"
    assert [image.full_name for image in list_images()] == [
        "other-0123456789ab", "toy-bbbbbbbbbbbb", "toy-aaaaaaaaaaaa", "toy-cccccccccccc",
    ]  # fmt: skip


def test_a_stock_name_means_the_recipe_as_it_is_now(images, recwarn):
    old = hand_made_image(images, "science", "aaaaaaaaaaaa", built="2099-01-01T00:00:00+00:00")
    with pytest.warns(UserWarning, match="science-aaaaaaaaaaaa is of an older recipe; `deskgym image build science`"):
        assert find_image("science").folder == old
    present = hand_made_image(images, "science", load_recipe("science").hash)
    recwarn.clear()
    assert find_image("science").folder == present
    assert not recwarn.list


def test_a_missing_image_is_answered_with_the_command_that_builds_it(images):
    message = refused(find_image, "science", kind="no_image")
    assert "no image 'science': build it with `deskgym image build science` (none is built yet" in message
    hand_made_image(images)
    message = refused(find_image, "tou", kind="no_image")
    assert "did you mean 'toy'" in message and "built are toy-0123456789ab" in message
    assert "did you mean 'science'" in refused(find_image, "sience", kind="no_image")
    assert "has no manifest.json" in refused(find_image, "/nowhere/toy", kind="no_image")
    refused(find_image, "..", kind="no_image")


def test_unfinished_builds_are_no_images(images):
    hand_made_image(images).rename(images / ".building-toy-0123456789ab")
    assert list_images() == [] and image_folders() == []
    refused(find_image, "toy", kind="no_image")
    refused(find_image, ".building-toy-0123456789ab", kind="no_image")


@pytest.mark.parametrize("text", ["", "[]", '{"name": "toy"}', "\x00\xff"])
def test_a_manifest_that_cannot_be_read_is_a_bad_image(images, text):
    folder = hand_made_image(images)
    (folder / "manifest.json").write_text(text)
    message = refused(find_image, folder.name, kind="bad_image")
    assert str(folder / "manifest.json") in message and "deskgym image build RECIPE --force" in message
    assert list_images() == [] and image_folders() == [folder]


def cut_disk(folder):
    with (folder / "disk.qcow2").open("r+b") as file:
        file.truncate(1000)


def blank_header(folder):
    with (folder / "disk.qcow2").open("r+b") as file:
        file.write(bytes(8))


def other_size(folder):
    with (folder / "disk.qcow2").open("r+b") as file:
        file.seek(24)
        file.write((2 << 20).to_bytes(8, "big"))


def no_initrd(folder):
    (folder / "initrd.img").unlink()


CHEAPLY_FOUND = {
    cut_disk: "disk.qcow2: got 1000 bytes, expected 19",
    blank_header: "disk.qcow2: got a file that starts with",
    other_size: "virtual size of 2097152 bytes, expected qcow2 version 3, backing file at 0, virtual size of 1048576",
    no_initrd: "initrd.img: got No such file or directory, expected a file of 6 bytes",
}


@pytest.mark.parametrize("harm", CHEAPLY_FOUND)
def test_the_cheap_check_finds_what_is_cut_short_missing_or_no_disk(images, harm):
    image = Image.open(hand_made_image(images))
    image.verify()
    harm(image.folder)
    message = refused(image.verify, kind="bad_image")
    assert f"image toy-0123456789ab is damaged: {image.folder}" in message and CHEAPLY_FOUND[harm] in message
    assert message.endswith("build it again with `deskgym image build RECIPE --force`")


def test_the_deep_check_finds_a_changed_byte(images):
    image = Image.open(hand_made_image(images))
    image.verify(deep=True)
    image.kernel.write_bytes(b"Kernel")
    image.verify()
    assert "vmlinuz: got sha256" in refused(image.verify, True, kind="bad_image")


def test_the_deep_check_asks_qemu_img(images):
    folder = hand_made_image(images)
    with (folder / "disk.qcow2").open("r+b") as file:  # its refcount table now lies far behind the end
        file.seek(48)
        file.write((1 << 40).to_bytes(8, "big"))
    manifest = json.loads((folder / "manifest.json").read_text())
    from deskgym.envs.machines.image.image import sha256

    manifest["files"]["disk.qcow2"]["sha256"] = sha256(folder / "disk.qcow2")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "`qemu-img check` saying" in refused(Image.open(folder).verify, True, kind="bad_image")


def test_every_start_can_afford_the_cheap_check(images):
    folder = hand_made_image(images)

    def timed():
        start = time.perf_counter()
        find_image(folder.name).verify()
        return time.perf_counter() - start

    assert statistics.median(timed() for _ in range(20)) < 0.005


def test_images_are_removed_by_full_name_or_all_of_a_name(images):
    one = hand_made_image(images, digest="aaaaaaaaaaaa")
    two = hand_made_image(images, digest="bbbbbbbbbbbb")
    other = hand_made_image(images, name="other")
    message = refused(remove_image, "othr", kind="no_image")
    assert "did you mean 'other'" in message
    assert remove_image("other-0123456789ab") == [other]
    assert remove_image("toy") == [one, two]
    assert list(images.iterdir()) == []


def test_a_damaged_image_can_be_removed(images):
    folder = hand_made_image(images)
    (folder / "manifest.json").unlink()
    assert remove_image(folder.name) == [folder]
    assert not folder.exists()
