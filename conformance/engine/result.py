"""What a run came to: the outcomes of its kernels and what they ran on. A record is made of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime

from conformance.engine.messages import Ready, Setup
from conformance.engine.modes import Mode
from conformance.engine.places import source_lines, with_lines
from conformance.outcome import INFRASTRUCTURE, Outcome
from conformance.port.declared.declared import NOTHING
from conformance.port.declared.known import Settled, excluded, settle


@dataclass
class Result:
    """The result of a run: the outcome of each judged kernel, what it ran on, when it started (UTC), and its seconds.

    ``selected`` are the names of all kernels that were asked for; an interrupted run has outcomes for some of them.
    ``warnings`` are about what went wrong without affecting a verdict, ``printed`` is what kernels printed.
    ``interrupted`` says that the run was stopped, and ``partly`` names kernels of which only some cases were asked for.
    """

    setup: Setup
    mode: Mode
    ready: Ready
    outcomes: dict[str, Outcome]
    started: datetime
    seconds: float
    compile_logs: dict[str, str] = field(default_factory=dict)
    selected: tuple[str, ...] = ()
    warnings: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    interrupted: bool = False
    partly: tuple[str, ...] = ()
    source_lines: dict[str, int] = field(default_factory=dict)
    """The length of each source that defines a judged kernel, by label."""

    def placed(self) -> Result:
        """The same result with the lines of failing kernels and the lengths of sources.

        For an interrupted run no source is read, as it is to end soon.
        """
        if not self.mode.trees:
            return self
        tree = self.mode.trees[0]
        outcomes = self.outcomes if self.interrupted else with_lines(self.outcomes, tree)
        return replace(self, outcomes=outcomes, source_lines=source_lines(outcomes.values(), tree))

    def settled(self, kernels: Collection[str], launchers: Collection[str] = ()) -> Settled:
        """The outcomes after the port's declarations are applied. ``kernels`` and ``launchers`` are the names that the
        specs have."""
        declared = self.mode.trees[0].declared if self.mode.trees else NOTHING
        rows, runtime = declared.known_failures, self.setup.runtime
        recorded = self.mode.traces is not None
        found = settle(rows, self.outcomes, kernels, self.partly, runtime, self.ready.arch, recorded, launchers)
        gone = excluded(declared.exclude, self.outcomes)
        missing = {name for name, outcome in self.outcomes.items() if outcome.status == "missing"}
        if self.outcomes.keys() >= set(kernels):  # a whole run leaves out launchers that no source names
            missing |= set(launchers) - self.outcomes.keys()
        problems = (*declared.names.unmatched(missing), *found.problems, *gone.problems)
        return Settled({**found.reasons, **gone.reasons}, tuple(f"{declared.file}: {problem}" for problem in problems))

    def reason_of(self, outcome: Outcome) -> str | None:
        """The declared reason why the kernel of ``outcome`` fails, if the port declares all its failures; else
        ``None``."""
        return replace(self, outcomes={outcome.name: outcome}).settled(()).reasons.get(outcome.name)

    @property
    def infrastructure(self) -> tuple[str, ...]:
        """Sentences about everything that cost a verdict and was no kernel's doing, each once."""
        messages = [outcome.message or "" for outcome in self.outcomes.values() if outcome.status == "not_run"]
        sentences = [text.removeprefix(INFRASTRUCTURE) for text in messages if text.startswith(INFRASTRUCTURE)]
        return tuple(dict.fromkeys(sentences))

    @property
    def complete(self) -> bool:
        """Whether every selected kernel has an outcome."""
        return all(name in self.outcomes for name in self.selected)
