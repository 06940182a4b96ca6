"""A machine that has nothing but files: what the checks of files and answers need."""

from collections.abc import Callable
from typing import Any

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError


class Files(dict):
    """Stands for ``Machine.get`` over a mapping; an exception as content is raised."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.reads: list[str] = []
        self.guest = self
        self.host_lost, self.alive = False, True

    def stat(self, path: str) -> dict[str, Any]:
        if path not in self:
            raise GuestCallError(f"no such file: {path}", kind="FileNotFoundError")
        return {"type": "file"}

    def get(self, path: str, *, limit: int = 64 << 20) -> bytes:  # type: ignore[override]
        self.reads.append(path)
        if path not in self:
            raise GuestCallError(f"no such file: {path}", kind="FileNotFoundError")
        content = self[path]
        if isinstance(content, Exception):
            raise content
        if len(content) > limit:
            raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FileTooLarge")
        return content


@pytest.fixture
def state() -> Callable[..., FinalState]:
    def make(stop: str = "done", answer: str | None = None, **files: Any) -> FinalState:
        named = {f"/home/user/{name}": content for name, content in files.items()}
        return FinalState(Files(named), stop, answer, "demo/x#1", 1, 3)  # type: ignore[arg-type]

    return make
