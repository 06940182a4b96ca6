"""A small suite on the fake machine; its checks read a file and a program's state, so that they can be re-scored."""

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import MachineError, SetupError, TaskError
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.task_suites import load_task_files

NUMBER = "/home/user/number.txt"


class CopyTask:
    """Solved by answering with the number in a file."""

    verbose = ("read the file", "answer")
    max_steps, difficulty, tags, source, split, feasible = 4, "easy", ("t",), "tests", None, True
    vocabulary, keys = (), ()

    def __init__(self, name, seed, fixed_checks=True):
        self.id, self.seed, self.params = f"{name}#{seed}", seed, {"number": 100 + seed}
        self.instruction = f"Answer with the number in {NUMBER}: </script><script>alert('hi')</script>"
        self.name = name

    @property
    def wrong_attempts(self):
        if self.name == "fake/no-wrong":
            return {}
        return {
            "other": lambda screen: iter([[Action("answer", text="7")]]),
            "done": lambda screen: iter([[Action("click", x=9, y=9)], [Action("done")]]),
        }

    def prepare(self, machine):
        if self.name == "fake/no-setup":
            raise SetupError("launch: the window never came")
        if self.name == "fake/broken":
            raise MachineError("the machine is on fire", "fire")
        machine.put(NUMBER, str(self.params["number"]).encode())

    def evaluate(self, final):
        def number(final):
            right = final.read_once(f"file:{NUMBER}", lambda machine: machine.get(NUMBER)).decode()
            return final.answer == right, f"answered {final.answer!r}; right is {right!r}"

        def state(final):
            read = final.read_once(
                "reader:state", lambda machine: {"list": [1, 2.5], "bytes": b"\x00\xff", "pair": (1, "é")}
            )
            return read["pair"] == (1, "é") and read["bytes"] == b"\x00\xff", repr(read)

        return Evaluator([Check("number", number), Check("state", state)], end="answer").evaluate(final)

    def oracle(self, screen):
        yield [Action("click", x=20, y=30), Action("type", text="x")]
        lazy = self.name == "fake/lazy"
        yield [Action("answer", text="1" if lazy else str(self.params["number"]))]


class FakeSource:
    """Templates ``fake/copy`` (well-made) and others, each with one defect, where they are asked for."""

    def __init__(self, names=("fake/copy",)):
        self.names = names

    def ids(self, split=None):
        return [*self.names]

    def get(self, task_id, seed=None):
        name, _, number = task_id.partition("#")
        if name == "fake/unsupported":
            raise TaskError("its program is not installed")
        if name not in self.names:
            raise TaskError(f"unknown task {task_id!r}; did you mean 'fake/copy'?")
        return CopyTask(name, int(number or seed or 0))

    def draw(self, rng, pattern=None, split=None):
        able = [name for name in self.names if name != "fake/unsupported"]
        name = pattern if pattern and "*" not in pattern else able[int(rng.integers(len(able)))]
        return self.get(name, None if "#" in name else int(rng.integers(1000)))


def suite(entry, mode):
    return FakeSource() if entry.name == "science" else load_task_files(entry, mode)


def whole_suite(entry, mode):
    return FakeSource(("fake/copy", "fake/no-wrong", "fake/no-setup", "fake/broken", "fake/lazy", "fake/unsupported"))
