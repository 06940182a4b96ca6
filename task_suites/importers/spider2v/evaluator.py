"""Upstream's rule of scoring: the comparisons in order until one decides, their mean or maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import RIGHT_STOPS, Check, CheckFailed, Evaluator
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.task_suites.importers.spider2v.apps import find_app
from deskgym.task_suites.importers.spider2v.config import run_postconfig
from deskgym.task_suites.importers.spider2v.frame import Correction, ResultGetter, Scene
from deskgym.task_suites.importers.spider2v.getters import EXPECTED, RESULTS
from deskgym.task_suites.importers.spider2v.metrics import METRICS, Judging, Metric
from deskgym.task_suites.importers.spider2v.record import Comparison, Getter, Mode, UpstreamTask


@dataclass(frozen=True)
class SpiderEvaluator(Evaluator):
    """Judges a task of Spider2-V.

    FAIL scores 0 but for a task that cannot be done. What the agent made unreadable is a fail, a metric's own exception
    an error.

    Attributes:
        record: the task; it has no ``reasons`` against it.
        mode: in ``"paper"`` the score is upstream's, which may lie between 0 and 1; in ``"corrected"`` it is 1 where
            all of it is right, else 0.
    """

    checks: Sequence[Check] = ()
    record: UpstreamTask = field(kw_only=True)
    mode: Mode = field(kw_only=True)

    def evaluate(self, final: FinalState) -> Verdict:
        """The verdict; never raises."""
        stop = self._stop(final)
        if final.stop not in RIGHT_STOPS[self.end]:
            return Verdict.from_checks([stop], self.notes)
        if self.record.infeasible:
            return Verdict.from_checks([stop], self.notes)
        app = find_app(self.record.app)
        assert app is not None  # else it has reasons against it
        scene = Scene(final, self.record, app, self.mode)
        results: list[CheckResult] = [stop]
        scores: list[float] = []
        if self.record.postconfig:
            results.append(replace(Check("postconfig", lambda _: _prepared(scene))(final), weight=0.0))
        if all(results):
            results += self._compare(scene, scores)
        correction = app.correction(self.record) if self.mode == "corrected" else None
        if correction is not None and correction.test is not None and all(results):
            results.append(Check("corrected", lambda _: _tested(scene, correction))(final))
        return self._verdict(results, scores)

    def _compare(self, scene: Scene, scores: list[float]) -> list[CheckResult]:
        """The comparisons' results until one decides; adds their scores."""
        results: list[CheckResult] = []
        for comparison in self.record.comparisons:
            found = [0.0]

            def test(final: FinalState, comparison: Comparison = comparison, found: list[float] = found) -> Any:
                found[0], message = compare(scene, comparison)
                return found[0] >= 1.0, f"score {found[0]:g}: {message}"

            results.append(Check(comparison.metric, test)(scene.final))
            scores.append(found[0])
            decided = found[0] >= 1.0 if self.record.conjunction == "or" else found[0] <= 0.0
            if decided or results[-1].outcome == "error":
                break
        return results

    def _verdict(self, results: list[CheckResult], scores: list[float]) -> Verdict:
        """The checks' own verdict; in ``paper`` mode with upstream's score, which may be a part of 1."""
        any_of = self.record.conjunction == "or"
        if any_of and max(scores, default=0.0) >= 1.0:  # those before it do not count
            results = [result for result in results if result or result.name not in self._metrics]
        verdict = Verdict.from_checks(results, self.notes)
        others = all(result for result in results if result.name not in self._metrics)
        if self.mode == "corrected" or verdict.error or not scores or not others:
            return verdict
        score = max(scores) if any_of else 0.0 if min(scores) <= 0.0 else sum(scores) / len(scores)
        return replace(verdict, score=min(1.0, max(0.0, score)))

    @property
    def _metrics(self) -> set[str]:
        return {comparison.metric for comparison in self.record.comparisons}


def compare(scene: Scene, comparison: Comparison) -> tuple[float, str]:
    """The score of one comparison, and what was found.

    Raises:
        CheckFailed: the agent left nothing that can be compared.
    """
    metric: Metric = METRICS[comparison.metric]
    value = _getter(scene, comparison.result, RESULTS)(scene, comparison.result)
    right = comparison.expected and _getter(scene, comparison.expected, EXPECTED)(scene, comparison.expected)
    judging = Judging(scene.mode, scene.fresh_machine, scene.record.abstract)
    return metric(value, right, judging, **comparison.options)


def _getter(scene: Scene, getter: Getter, known: Any) -> ResultGetter:
    found: ResultGetter = scene.app.getters.get(getter.type) or known[getter.type]
    return found


def _prepared(scene: Scene) -> tuple[bool, str]:
    run_postconfig(scene)
    return True, f"{len(scene.record.postconfig)} steps"


def _tested(scene: Scene, correction: Correction) -> tuple[bool, str]:
    assert correction.test is not None
    correction.test(scene)
    return True, "the corrected mode's own test passed"


__all__ = ["CheckFailed", "SpiderEvaluator", "compare"]
