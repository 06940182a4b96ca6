"""What all tests share: which need a sandbox or a virtual machine, what CI samples, and what it runs twice.

Tests are skipped where a program, a library, a sandbox or a virtual machine is missing, with the reason; in CI they
fail. There the slow tests of a random sixth of the files run, some long tests take a random third of their cases, and
a test that fails runs once more at the end, alone: what passes then is printed as flaky, and few may.
"""

import os
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig

IN_CI = os.environ.get("CI") == "true"
MAY_SKIP = re.compile(
    "this run's sample|only root|root is needed|ordinary user|o[fn] x86_64|/upstream|to nobody|machine declares that"
)
"""Why a test may be skipped in CI: what is sampled, who runs it, on which processor, files that are not ours, and what
a kind of machine says that it cannot do."""
FLAKY_AT_MOST = 3
"""More flaky tests than this make the run red."""
AGAIN_AT_MOST = 20
"""With more failures than this none is run again: that is no bad luck."""
LOG = "DESKGYM_FLAKY_LOG"
"""The environment variable with a file to which the names of flaky tests are added, for several runs together."""

SAMPLE = "DESKGYM_SAMPLE_SEED"
"""The environment variable with the seed of what is sampled in CI; "all", the default elsewhere, samples nothing."""


def pytest_addoption(parser):
    again = "run what failed once more at the end, alone; the default where CI=true"
    parser.addoption("--again", action="store_true", default=IN_CI, help=again)


@cache
def why_no_sandbox():
    from deskgym.envs.machines.sandbox.machine import SandboxMachine

    try:
        with SandboxMachine(MachineConfig(screen_size=None)):
            return ""
    except MachineError as error:
        return str(error)


@cache
def why_no_qemu():
    from deskgym.envs.machines.image import find_image
    from deskgym.envs.machines.qemu.host import find_qemu

    try:
        find_qemu()
        find_image("science").verify()
        return ""
    except MachineError as error:
        return str(error)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for mark, why_not in (("sandbox", why_no_sandbox), ("qemu", why_no_qemu)):
        if item.get_closest_marker(mark) and (reason := why_not()):
            pytest.skip(f"no {mark} here: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return failed_in_ci((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return failed_in_ci((yield))


def failed_in_ci(report):
    """The report; in CI a failure where it says that a test was skipped for want of something."""
    if IN_CI and report.skipped and not MAY_SKIP.search(report.longrepr[2]):
        report.outcome, report.longrepr = "failed", f"{report.longrepr[2]}: in CI nothing may be missing"
    return report


@pytest.fixture
def sampled():
    """Picks a third of a list, in order, by the run's seed; all of it where that is "all"."""

    def sample(items):
        seed = os.environ[SAMPLE]
        count = len(items) if seed == "all" else -(-len(items) // 3)
        chosen = random.Random(seed).sample(range(len(items)), count)
        return [items[k] for k in sorted(chosen)]

    return sample


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Sample the slow tests by the run's seed, once ``-m`` has chosen.

    With ``--dist loadgroup`` the tests of a file run in one process, and so do all that start virtual machines.
    """
    for item in items:
        if item.get_closest_marker("qemu"):
            item.add_marker(pytest.mark.xdist_group("qemu"))
        elif not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(file_of(item)))
    result = yield
    slow = [item for item in items if item.get_closest_marker("slow")]
    files = sampled_files({file_of(item) for item in slow})
    left_out = [item for item in slow if file_of(item) not in files]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    return result


def file_of(item):
    return item.nodeid.partition("::")[0]


def sampled_files(files):
    """The files whose slow tests run: a sixth, but at least one; all of a file, whose fixtures are expensive."""
    seed = os.environ[SAMPLE]
    if seed == "all" or not files:
        return files
    draws = {file: random.Random(f"{seed} {file}").random() for file in files}
    return {file for file, draw in draws.items() if draw < 1 / 6} or {min(draws, key=draws.get)}


def pytest_report_header():
    return f"samples by {SAMPLE}={os.environ[SAMPLE]}"


def pytest_configure(config):
    os.environ.setdefault(SAMPLE, str(random.randrange(10**6)) if IN_CI else "all")
    if config.getoption("--again") and not hasattr(config, "workerinput"):  # not in xdist's workers
        config.pluginmanager.register(Again(config), "deskgym-again")


class Again:
    """Runs failed tests again, each in a process of its own."""

    def __init__(self, config):
        self.config = config
        self.failed = {}
        self.flaky = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            name = report.nodeid  # with "@GROUP" at the end, where xdist distributes by groups
            cut = name.rfind("@") if name.rfind("@") > max(name.rfind("]"), name.rfind("::")) else None
            self.failed.setdefault(name[:cut], []).append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if exitstatus != pytest.ExitCode.TESTS_FAILED or not 0 < len(self.failed) <= AGAIN_AT_MOST:
            return
        self.flaky = [name for name in self.failed if self.passes_alone(name)]
        if LOG in os.environ:
            with Path(os.environ[LOG]).open("a") as log:
                log.writelines(f"{name}\n" for name in self.flaky)
        reports = [report for name in self.flaky for report in self.failed[name]]
        stats = self.config.pluginmanager.get_plugin("terminalreporter").stats
        for kind in ("failed", "error"):
            stats[kind] = [report for report in stats.get(kind, []) if report not in reports]
        stats["flaky"] = reports
        if len(self.flaky) == len(self.failed) and len(self.flaky) <= FLAKY_AT_MOST:
            session.exitstatus = pytest.ExitCode.OK

    def passes_alone(self, name):
        command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:xdist", "-p", "no:cacheprovider", name]
        env = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_ADDOPTS")}
        done = subprocess.run(command, cwd=self.config.rootpath, env=env, capture_output=True, text=True)
        return done.returncode == 0 and " passed" in done.stdout  # one that is skipped has not passed

    def pytest_terminal_summary(self, terminalreporter):
        if not self.flaky:
            return
        terminalreporter.section("flaky: failed, and passed when run once more, alone")
        for name in self.flaky:
            terminalreporter.write_line(name, yellow=True)
            for report in self.failed[name]:
                terminalreporter.write_line(report.longreprtext)
        if len(self.flaky) > FLAKY_AT_MOST:
            terminalreporter.write_line(f"{len(self.flaky)} tests are flaky; at most {FLAKY_AT_MOST} may be", red=True)
