"""What requests have cost, counted for all episodes at once, and what is left of a budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deskgym.agents.llm.settings import BudgetSpent, ModelSettings

_MILLION = 1_000_000


class Usage(NamedTuple):
    """The tokens of a request.

    Attributes:
        prompt: that the model has read.
        answer: that it has written, reasoning included.
        cached: of the prompt's, those that the service had kept.
    """

    prompt: int = 0
    answer: int = 0
    cached: int = 0

    @classmethod
    def of(cls, counted: Mapping[str, Any]) -> Usage:
        """What a record has, by the names of the fields; 0 for what it lacks."""
        return cls(**{name: int(counted.get(name) or 0) for name in cls._fields})

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass
class Spending:
    """Tokens and money of all requests, for several threads.

    Attributes:
        settings: whose budgets and price.
        usage: of what was answered.
        requests: that were answered by the service.
        from_cache: that were answered from the cache, for nothing.
    """

    settings: ModelSettings
    usage: Usage = Usage()
    requests: int = 0
    from_cache: int = 0
    _reserved: Usage = Usage()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def cost(self) -> float | None:
        """Dollars; None where there is no price."""
        return self.cost_of(self.usage)

    def cost_of(self, usage: Usage) -> float | None:
        """Dollars of some tokens; None where there is no price."""
        price = self.settings.price
        return None if price is None else (usage.prompt * price[0] + usage.answer * price[1]) / _MILLION

    @contextmanager
    def reserved(self, most: Usage) -> Iterator[None]:
        """Keep what a request may cost from the others until it is answered.

        Raises:
            BudgetSpent: so much is not left.
        """
        with self._lock:
            self._check(self.usage.plus(self._reserved).plus(most))
            self._reserved = self._reserved.plus(most)
        try:
            yield
        finally:
            with self._lock:
                self._reserved = Usage(*(all_ - one for all_, one in zip(self._reserved, most, strict=True)))

    def add(self, usage: Usage, *, from_cache: bool = False) -> None:
        """Count an answer."""
        with self._lock:
            if from_cache:
                self.from_cache += 1
            else:
                self.requests += 1
                self.usage = self.usage.plus(usage)

    def _check(self, usage: Usage) -> None:
        tokens, budget = usage.prompt + usage.answer, self.settings.token_budget
        if budget is not None and tokens > budget:
            raise BudgetSpent(f"the next request could come to {tokens} tokens in all; the budget is {budget}")
        cost, dollars = self.cost_of(usage), self.settings.cost_budget
        if dollars is not None and cost is not None and cost > dollars:
            raise BudgetSpent(f"the next request could come to {cost:.4f} dollars in all; the budget is {dollars}")
