"""Judges as a run has them, asked for one case at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.engine.messages import RunCases
from conformance.engine.modes import JudgeGenerated
from conformance.engine.pool import Pool
from conformance.outcome import Outcome
from conformance.session.setup import config_from, setup_from, tree_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs

RUNTIMES: Mapping[str, Mapping[str, Any]] = {
    "cpu": {"runtime": "cpu", "wave": 64},
    "cpu32": {"runtime": "cpu", "wave": 32},
    "isa": {"runtime": "isa", "arch": "gfx942"},
    "cuda": {"runtime": "cuda"},
}

_NOTHING = ("only empty cases", "no case was run")
"""What a run says that judged nothing: the launch has no elements, or buffers with gaps that this runtime has not."""


class Judges:
    """A judge per runtime, by names of ``RUNTIMES``, each with all of a tree; a context manager."""

    def __init__(self, runtimes: Sequence[str], kernels: Path | None = None, include: Sequence[Path] = ()) -> None:
        specs = load_specs()
        self.kernels = {**specs.kernels, **specs.launchers}
        self._pools: dict[str, Pool] = {}
        self.ready: list[str] = []
        try:
            for name in runtimes:
                settings = Settings(kernels=kernels, include_dirs=tuple(include), **RUNTIMES[name])
                config = config_from(settings)
                tree = tree_from(settings, specs, config)
                self._pools[name] = Pool([setup_from(settings, ["run"], tree, config)], JudgeGenerated(tree))
                self.ready.append(self._pools[name].greet().description)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools.values():
            pool.__exit__(None, None, None)

    def wrong(self, kernel: Kernel, case: str) -> str | None:
        """What the first runtime that does not let ``case`` pass says of it."""
        for name, pool in self._pools.items():
            (outcome,) = pool.answers([RunCases(kernel, (case,))])
            assert isinstance(outcome, Outcome)
            why = wrong_in(outcome)
            if why is not None:
                return f"{name}: {why}"
        return None


def wrong_in(outcome: Outcome) -> str | None:
    """What is wrong of one case's outcome; ``None`` where it passes, and where nothing of it could be judged."""
    if outcome.status == "pass" or any(words in (outcome.message or "") for words in _NOTHING):
        return None
    return f"{outcome.status}: {outcome.failures[0].why if outcome.failures else outcome.message}"
