"""The words of ``docs/benchmarks.md``; the numbers come from the run."""

from __future__ import annotations

INTRODUCTION = """\
<!-- Written by `deskgym bench --write-docs`: change deskgym/benchmarks/page_texts.py, not this file. -->
# {title}

```
deskgym bench                                   # all parts, about half an hour on two cores; prints tables
deskgym bench step vector                       # some of: startup step reset vector density programs peers
deskgym bench --quick                           # does it all work? numbers of no weight, about two minutes
deskgym bench --out out/bench                   # bench.json (every sample) and plots too
deskgym bench --write-docs docs/benchmarks.md   # this page; plots and data beside it in {folder}/
deskgym bench --from out/bench/bench.json --write-docs page.md
```

It needs `kalgebra`; `peers` also takes `mousepad` and `python3-pyatspi` (`make setup-test` installs them), and for
MiniWoB++ `pip install -e '.[bench]'` and `apt install chromium chromium-driver`. What is missing is skipped.
Run it on a machine that does nothing else: a step of ours holds a quiet window (`SettlePolicy`) that no load
stretches, while what it is compared with is mostly computing. What is compared is measured in the same run and in
turn. Tables give the median and the 5th to 95th percentile of n samples.
"""

PARTS: dict[str, tuple[str, str]] = {
    "startup": (
        "Startup",
        """
`Machine.start()` of a sandbox at 1920×1080: until the guest answers, until X takes connections, until the desktop
(session bus, accessibility bus, window manager, code executor) is ready. One start before the first that counts makes
what all of a process share; a *new process* pays for that, and for its imports, too. KAlgebra is then started on a
desktop that is up, as its tasks do.
""",
    ),
    "step": (
        "Step",
        """
`env.step()` at 1920×1080, everything included: checking the action, input, settling, reading elements, the frame as an
RGB array. Four equal KAlgebra desktops, one for each kind of action; they take turns, six steps each, with each
observation. `discrete` reads the elements with every observation, because its masks need them. The quiet window (10 ms
after the last change, 20 ms for a first one) is the floor of `settle`; the rest of it is the program painting. `rest`
is the round trip to the guest, checking and reporting.

*First read* is accessibility of a program just started, *all read again* the same program with everything asked anew,
*nothing changed* a read while the screen stands still. The marks are `SetOfMark`'s on a made-up screen of 300 elements,
and the published benchmarks' drawing of the same with Pillow.
""",
    ),
    "reset": (
        "Reset",
        """
`env.reset()` of `kalgebra/plot-2d` at 1920×1080 with screenshot and elements, as the caller sees it: of a new env, of
one after an episode, and of one with `pool={"depth": 1}` after an episode of twelve clicks that was long enough for the
next desktop to be ready (the benchmark waits until nothing computes any more). Where episodes are shorter than a
preparation, the reset waits for the rest of it: see the episodes per minute under *Vector*.
""",
    ),
    "vector": (
        "Vector",
        """
`gym.make_vec("deskgym/Science-v0", num_envs=8, task="kalgebra/plot-2d", screen_size=(1280, 720),
observation=("screenshot", "elements"), copy=False)`. Each env does clicks into the input line, digits and short
expressions in turn.

- *At their own pace*: `send` and `recv(1)`; a env that is ready gets its next action at once. 1, 2, 4 and 8 of the same
  eight are used, in turn, 3 s each; *in lockstep* is `step`.
- *One that sleeps*: the eighth env's every step is a `wait` of 2 s. Steps of the other seven are counted, with the
  eighth asleep and with it idle, in turn.
- *Added by the layer*: what a caller waits for beyond what the env reports for its own step: pickling, pipes, waking.
  One env steps and seven are idle, so that no wait for a core is in it; for eight in lockstep on few cores there is.
- *Episodes per minute*: 5 to 25 such actions and DONE, evaluated, then the next episode; the same lengths in the same
  order for both. `AsyncVectorEnv` has the same env, shared memory, SAME_STEP and no copies; ours has a pool of depth 1.
  The clock starts when all eight have their first observation, with nothing prepared, and stops when the last of the
  wanted episodes has ended and been reset. What the pool has prepared by then is paid for, and not counted. No time is
  taken by a policy: a learner's own pauses, in which the pool goes on, would be in our favour.

Where the rows say that all cores are busy, the cores are the limit, and not what waits for what: steps per second times
the processor time of a step is then their number, and a vector can be faster than one env, or than a lockstep, only by
what those leave idle. A settled step is mostly computing (the program painting, the guest reading it) and hardly
waiting, so that on two cores eight envs cannot be two and a half times one. More cores, or a policy that takes its
time, would leave more to overlap; that has not been measured here.
""",
    ),
    "density": (
        "Density",
        """
Bare desktops (X, window manager, accessibility, guest, code executor; no program) at 1280×720, all alive in one
process, as many as asked for while 2 GiB stay free. Memory is what the host has less of, divided by their number, with
page cache and kernel included, and the first one, which brings what all share, left out. Then each is asked for a
settled step, one at a time and all at once. *At work* is KAlgebra with a step each second on each of eight desktops.
Processor time is that of all processes, ours and theirs, from the kernel's accounts.
""",
    ),
    "programs": (
        "Programs",
        """
Tasks of `deskgym/DataEngineering-v0` at 1280×720 with screenshot and elements, each program as one of its tasks shows
it. *First* is the first reset of an environment: it starts the companion from its prepared layers, where the task has
one. *On the spot* is a reset after that: a new desktop, the companion's data rolled back. *With a pool* is what the
caller waits for when the next desktop is ready. A step presses a key that changes what is seen. Memory is the
proportional share (PSS) of all processes of the desktop and of its companions. *Episodes* are eight keys and DONE,
evaluated, in four environments with a companion each and a pool of depth 1. Spider2-V sleeps 13 s in a reset beside all
that it does; the table says how many times longer our reset would take with those sleeps in it.
""",
    ),
    "peers": (
        "Peers",
        """
MiniWoB++ (PyPI `miniwob`, Debian's Chromium, unchanged) and the conventional loop below, each in turn with ours.
MiniWoB++ is a 160×210 page in a headless browser, without a desktop: its `enter-text` task gets clicks into its field
and the same short texts, and observes screenshot and DOM. It does not wait for the page to settle; ours does.
The conventional loop runs on the same windows of the same sandbox, between two halves of our own steps, so that a load
that comes or goes meets both; 1920×1080, clicks, keys and short texts.
""",
    ),
}
"""Title and words of each part."""

CONVENTIONAL = """\
## The conventional loop

What the published desktop benchmarks do, written by us from their descriptions; none of their code is here
(`benchmarks/conventional_server.py` and `conventional_client.py`):

- an action is a new interpreter, `python -c "import pyautogui; ...; pyautogui.click(x, y)"`, asked for over HTTP;
- then a fixed sleep of 0.5 s, and within the action pyautogui's own pause of 0.1 s;
- the screen is a PNG over HTTP, decoded by the client, because the observation is pixels;
- the accessibility tree is a recursive pyatspi walk, one D-Bus round trip per property, sent as XML over HTTP.

Each variant is measured with its sleeps and with every sleep taken out (no sleep, `pyautogui.PAUSE = 0`), with and
without accessibility. It is not slowed down. Where the published systems differ from it, it is the faster one:

| | the published systems | here |
|---|---|---|
| sleep after an action | 0.5 s (Spider2-V, ScienceBoard), 2 s (OSWorld's default) | 0.5 s |
| screenshot | a program such as gnome-screenshot through a file, pointer pasted in, PNG written to disk | grabbed in the server, encoded in memory |
| interpreter | PyAutoGUI as pip installs it, with MouseInfo and tkinter | PyAutoGUI without these, byte-compiled |
| between client and server | a network or a VM's port forwarding | loopback |
| tables in LibreOffice | `libreoffice --version` for every table | no LibreOffice |
| tree | states, attributes, three kinds of coordinates, text, value, actions of each element | the same; the *lean* row reads states, one kind of coordinates and text only, as ours does |

The ratio without sleeps depends on the machine: ours is mostly the quiet window, which is the same everywhere, the
conventional loop is all computing.
"""  # noqa: E501
