import pytest

from deskgym.envs.machines.image import inside, load_recipe, recipe, stock_recipes
from deskgym.envs.machines.image.bootstrap import PackageCount
from deskgym.envs.machines.image.sources import host_sources


def load(tmp_path, text, name="own.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return load_recipe(path)


@pytest.mark.parametrize("name", stock_recipes())
def test_stock_recipes_are_right_and_their_agent_may_use_sudo(name):
    stock = load_recipe(name)
    assert stock.name == name
    agent = next(user for user in stock.users if user.name == "user")
    assert (agent.uid, agent.sudo) == (1000, True)
    assert {"xvfb", "systemd", "python3", "x11vnc", "socat", stock.kernel} <= set(stock.all_packages)
    assert not {"runc", "uidmap"} & set(stock.all_packages)


def test_a_short_recipe_has_everything_by_default(tmp_path):
    short = load(tmp_path, "name: short\n")
    assert (short.suite, short.resolution, short.disk_mb, short.mirror) == ("bookworm", (1280, 720), 4096, None)
    assert [(user.name, user.uid, user.sudo) for user in short.users] == [("user", 1000, False)]


def test_all_keys_arrive(tmp_path):
    (tmp_path / "tool.sh").write_text("#!/bin/sh\n")
    (tmp_path / "tool.sh").chmod(0o755)
    text = """
name: own
suite: trixie
mirror: http://mirror.example/debian
packages: [jq]
groups: [science]
files:
  - {path: /home/user/notes.txt, text: hello}
  - {path: /usr/local/bin/tool, source: tool.sh}
  - {path: /etc/secret, text: "", mode: "0600", owner: alice}
users: [{name: user, sudo: true}, {name: alice, uid: 1234}]
resolution: 1920x1080
services: {enable: [a.service], disable: [b.timer], mask: [c.socket]}
kernel: linux-image-amd64
disk_mb: 2048
run: [echo hi]
"""
    own = load(tmp_path, text)
    assert {"jq", "kalgebra", "openbox"} <= set(own.packages)
    assert [(f.path, f.content, f.mode, f.owner) for f in own.files] == [
        ("/home/user/notes.txt", b"hello", 0o644, "user"),
        ("/usr/local/bin/tool", b"#!/bin/sh\n", 0o755, "root"),
        ("/etc/secret", b"", 0o600, "alice"),
    ]
    assert (own.enable, own.disable, own.mask) == (("a.service",), ("b.timer",), ("c.socket",))
    assert (own.resolution, own.kernel, own.disk_mb, own.run) == ((1920, 1080), "linux-image-amd64", 2048, ("echo hi",))


WRONG = {
    "": "the recipe must be a mapping, got None",
    "- name: x": "the recipe must be a mapping, got [",
    "suite: bookworm": "name is missing",
    "name: Big": "name must be a name: lower-case",
    "name: 3": "name must be a text, got 3 (int)",
    "name: x\nname: y": "key 'name' is there twice",
    "name: [x": "is not YAML",
    "? [x]\n: y": "is not YAML: a key must be a word",
    "3: x": "the recipe has an unknown key 3",
    "name: x\npackage: [jq]": "unknown key 'package'; legal are name, suite",
    "name: x\npackages: jq": "packages must be a list, got 'jq' (str)",
    "name: x\npackages: [jq, 3]": "packages[1] must be a text, got 3",
    "name: x\npackages: [jq, 'a b']": "packages[1] 'a b' is no name of a Debian package",
    "name: x\npackages: ['a,b']": "packages[0] 'a,b' is no name",
    "name: x\npackages: [jq, jq]": "packages[1] 'jq' is there twice",
    "name: x\ngroups: [sience]": "groups[0] 'sience' is no group of packages; legal are ",
    "name: x\nsuite: Book worm": "suite must be a Debian suite",
    "name: x\nmirror: mirror.example": "mirror must be the URL of a Debian mirror",
    "name: x\nresolution: [1280, 720]": "resolution must be WIDTHxHEIGHT such as 1280x720, got [1280, 720] (list)",
    "name: x\nresolution: 12x8": "resolution must be from 320x200",
    "name: x\ndisk_mb: big": "disk_mb must be a whole number from 512 to 1048576, got 'big' (str)",
    "name: x\ndisk_mb: true": "disk_mb must be a whole number",
    "name: x\ndisk_mb: 100": "disk_mb must be a whole number from 512",
    "name: x\nkernel: 'linux image'": "kernel must be a Debian kernel package",
    "name: x\nrun: echo": "run must be a list",
    "name: x\nrun: [' ']": "run[0] must be a text",
    "name: x\nusers: [alice]": "users[0] must be a mapping, got 'alice'",
    "name: x\nusers: [{uid: 1000}]": "users[0] has no name",
    "name: x\nusers: [{name: user, id: 1000}]": "users[0] has an unknown key 'id'; legal are name, uid, sudo",
    "name: x\nusers: [{name: Al}]": "users[0].name must be a user's name",
    "name: x\nusers: [{name: root, uid: 1001}]": "root is in every image",
    "name: x\nusers: [{name: user, uid: 1001}]": "users[0].uid is 1001, but 1000 is 'user'",
    "name: x\nusers: [{name: al, uid: 12}]": "users[0].uid must be a whole number from 1000",
    "name: x\nusers: [{name: user, sudo: 'yes'}]": "users[0].sudo must be true or false, got 'yes' (str)",
    "name: x\nusers: [{name: al, uid: 1001}, {name: al, uid: 1002}]": "users[1] 'al', uid 1002, is a duplicate of 'al'",
    "name: x\nusers: [{name: al, uid: 1001}, {name: bo, uid: 1001}]": "users[1] 'bo', uid 1001, is a duplicate of 'al'",
    "name: x\nservices: [a.service]": "services must be a mapping",
    "name: x\nservices: {masked: [a.service]}": "unknown key 'masked'; legal are enable, disable, mask; did you mean",
    "name: x\nservices: {mask: [sshd]}": "services.mask[0] 'sshd' is no name of a systemd unit",
    "name: x\nservices: {mask: [a.timer], enable: [a.timer]}": "services.mask has 'a.timer', which services.enable has",
    "name: x\nfiles: [{text: x}]": "files[0] has no path",
    "name: x\nfiles: [{path: etc/x, text: x}]": "files[0].path must be an absolute path",
    "name: x\nfiles: [{path: /etc/../x, text: x}]": "files[0].path must be an absolute path without . or ..",
    "name: x\nfiles: [{path: /x}]": "files[0] must have either text or source",
    "name: x\nfiles: [{path: /x, text: a, source: b}]": "files[0] must have either text or source",
    "name: x\nfiles: [{path: /x, text: 3}]": "files[0].text must be a text, got 3 (int)",
    "name: x\nfiles: [{path: /x, source: own.yml}]": "own.yml cannot be read: No such file or directory; did you mean",
    "name: x\nfiles: [{path: /x, text: a, mode: 644}]": 'files[0].mode must be octal digits in quotes, such as "0644"',
    "name: x\nfiles: [{path: /x, text: a, mode: '0888'}]": "files[0].mode must be octal digits",
    "name: x\nfiles: [{path: /x, text: a, owner: usr}]": "files[0].owner 'usr' is no user of this recipe; legal are",
    "name: x\nfiles: [{path: /x, text: a}, {path: /x, text: b}]": "files[1].path '/x' is there twice",
}


@pytest.mark.parametrize("text", WRONG, ids=[line[:60].replace("\n", " ") for line in WRONG.values()])
def test_each_mistake_is_one_line_with_the_file_and_the_key(tmp_path, text):
    with pytest.raises(ValueError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path}/own.yaml: ") and "\n" not in message
    assert WRONG[text] in message


def test_an_unknown_recipe_names_the_stock_ones(tmp_path):
    with pytest.raises(
        ValueError, match="no recipe 'sience'.*legal are data_engineering, science.*did you mean 'science'"
    ):
        load_recipe("sience")
    with pytest.raises(ValueError, match="is a folder"):
        load_recipe(tmp_path)


def test_the_hash_is_of_what_is_meant_not_of_how_it_is_written(tmp_path):
    one = load(tmp_path, "name: x\npackages: [jq, bc]\nfiles: [{path: /a, text: a}, {path: /b, text: b}]\n")
    same = load(
        tmp_path,
        "# a comment\nfiles:\n- {text: b, path: /b, mode: '0644'}\n- {path: /a, text: a}\npackages: [bc, jq]\n"
        "suite: bookworm\nname: x\n",
    )
    assert one.hash == same.hash and len(one.hash) == 12
    assert one.full_name == f"x-{one.hash}"


CHANGES = (
    "packages: [bc]", "disk_mb: 5000", "run: [echo]", "resolution: 800x600", "users: [{name: user, sudo: true}]",
    "services: {mask: [a.timer]}", "services: {disable: [a.timer]}", "files: [{path: /a, text: b}]",
    "files: [{path: /a, text: a, mode: '0755'}]", "mirror: http://mirror.example/debian", "kernel: linux-image-amd64",
)  # fmt: skip


def test_the_hash_changes_with_every_key(tmp_path):
    hashes = {load(tmp_path, f"name: x\n{change}\n").hash for change in ("files: [{path: /a, text: a}]", *CHANGES)}
    assert len(hashes) == len(CHANGES) + 1


def test_the_hash_changes_with_a_source_the_guests_files_and_the_format(tmp_path, monkeypatch):
    guest = tmp_path / "files"
    (guest / "etc").mkdir(parents=True)
    monkeypatch.setattr(recipe, "GUEST_FILES", guest)
    source = tmp_path / "source"
    hashes = []

    def note():
        hashes.append(load(tmp_path, "name: x\nfiles: [{path: /a, source: source}]\n").hash)

    source.write_text("one")
    note()
    source.write_text("two")
    note()
    (guest / "etc/motd").write_text("hi")
    note()
    (guest / "etc/motd").chmod(0o755)
    note()
    monkeypatch.setattr(recipe, "FORMAT", recipe.FORMAT + 1)
    note()
    assert len(set(hashes)) == len(hashes)
    assert [(f.path, f.content, f.mode) for f in recipe.guest_files()] == [("/etc/motd", b"hi", 0o755)]


def test_the_recipes_own_file_wins_over_the_builders(tmp_path):
    own = load(tmp_path, "name: x\nfiles: [{path: /etc/fstab, text: mine}]\n")
    inside.write_tar(tmp_path / "late.tar", inside.late_files(own))
    import tarfile

    with tarfile.open(tmp_path / "late.tar") as archive:
        entries = [member for member in archive.getmembers() if member.name == "etc/fstab"]
        assert [archive.extractfile(entry).read() for entry in entries] == [b"mine"]


def test_commands_are_quoted_and_each_step_says_whose_it_is(tmp_path):
    script = inside.customise_script(
        load(tmp_path, """name: x\nrun: ["echo 'a b' > /x"]\nservices: {mask: [a.timer]}\n""")
    )
    assert "echo 'deskgym: run[0]'\nsh -euc 'echo '\"'\"'a b'\"'\"' > /x'\n" in script
    assert "echo 'deskgym: services.mask: a.timer'\nsystemctl mask a.timer\n" in script


def test_packages_are_counted():
    seen = []
    count = PackageCount(lambda *what: seen.append(what))
    for line in (
        "Get:1 http://mirror.example bookworm InRelease",
        "0 upgraded, 2 newly installed, 0 to remove",
        "Unpacking jq (1.6) ...",
        "Setting up jq (1.6) ...",
        "deskgym: run[0]",
        "noise",
        "I: creating tarball...",
    ):
        count.read(line)
    assert seen[-4:] == [
        ("unpacking jq", 1, 5),
        ("setting up jq", 2, 5),
        ("run[0]", 2, 5),
        ("creating tarball", 2, 5),
    ]


def test_the_hosts_debian_sources_are_used_and_no_others(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://old.example/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://a.example/debian bookworm "
        "main contrib\n"
        "deb-src http://a.example/debian bookworm main\n"
        "deb [signed-by=/etc/apt/keyrings/vendor.gpg] http://vendor.example/debian bookworm main\n"
        "deb http://vendor.example/debian bookworm stable\n"
    )
    (tmp_path / "sources.list.d/debian.sources").write_text(
        "Types: deb\nURIs: http://b.example/debian-security\nSuites:\n bookworm-security\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        "Enabled: no\nTypes: deb\nURIs: http://c.example\nSuites: bookworm\nComponents: main\n\n"
        "Types: deb\nURIs: http://d.example\nSuites: trixie\nComponents: main\n"
    )
    assert host_sources("bookworm", tmp_path) == [
        "deb http://a.example/debian bookworm main contrib",
        "deb http://b.example/debian-security bookworm-security main",
    ]
    assert host_sources("trixie", tmp_path) == ["deb http://d.example trixie main"]
    assert host_sources("sid", tmp_path) == []
    assert host_sources("bookworm", tmp_path / "nothing") == []
