"""All trials of a catalogue, in processes, and their table."""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.spec.kernel import Kernel
from tests.selftest.catalogue import Source, bug_classes, known_of
from tests.selftest.schemata import Mutant
from tests.selftest.trial import Result, run_trial

CHUNKS = (80, 400)
"""The least and the most mutants in one compilation, which costs as much as 30 trials: fewer where many run at once."""

CAP = 400
"""Cases of the first trial that a mutant survives before it goes to the others."""

MOST = 1500
"""Likewise of the second."""

DECIDED = 60
"""Likewise of one that was decided by hand."""

PART = 350
"""Mutants by kernels in one job of the later rounds: about half a minute."""


@dataclass(frozen=True)
class Job:
    source: Source
    wave: int
    mutants: dict[int, Mutant]
    cap: int
    kernels: tuple[Kernel, ...]
    salt: str = ""

    @property
    def cost(self) -> int:
        """A measure of the time it takes: launchers have the larger cases."""
        return (len(self.mutants) + 5) * sum(9 if kernel.is_host_function else 1 for kernel in self.kernels)

    def run(self) -> Result:
        source = self.source
        started = time.monotonic()
        try:
            caps = {n: self.cap if known_of(m) is None else min(DECIDED, self.cap) for n, m in self.mutants.items()}
            result = run_trial(source.root, source.stem, self.mutants, self.kernels, self.wave, caps, self.salt)
        except Exception as error:
            result = Result(broken=[f"{source.name}: {type(error).__name__}: {error}"])
        result.running = time.monotonic() - started
        return result


def jobs(
    rows: Iterable[tuple[Source, int, Mutant]], cap: int, chunk: int, waves: bool = False, most: int = 1
) -> Iterator[Job]:
    """Trials of at most ``chunk`` mutants, Candle's in waves of 32 and ours in waves of 64.

    With ``waves`` ours in waves of both sizes; the kernels of a source in up to ``most`` jobs."""
    groups: dict[Source, dict[int, Mutant]] = defaultdict(dict)
    for source, number, mutant in rows:
        groups[source][number] = mutant
    for source, mutants in groups.items():
        numbers = sorted(mutants)
        parts = -(-len(numbers) // chunk)
        for wave in (32,) if source.tree == "candle" else (64, 32) if waves else (64,):
            for part in range(parts):
                mine = {number: mutants[number] for number in numbers[part::parts]}
                whole = Job(source, wave, mine, cap, source.kernels)
                pieces = min(-(-whole.cost // PART), len(source.kernels), most)
                for piece in range(pieces):
                    yield replace(whole, kernels=source.kernels[piece::pieces])


class Run:
    """All trials of a catalogue."""

    def __init__(
        self,
        mutants: Sequence[tuple[Source, Mutant]],
        workers: int,
        every: Sequence[Source],
        file: Path | None = None,
        salt: str = "",
    ) -> None:
        self.salt = salt
        self.homes = {number: source for number, (source, _) in enumerate(mutants, 1)}
        self.mutants = {number: mutant for number, (_, mutant) in enumerate(mutants, 1)}
        self.every, self.workers, self.file = every, workers, file
        self.chunk = min(max(CHUNKS[0], len(mutants) // workers), CHUNKS[1])
        self.pieces = max(workers // 4, 1)
        self.state: dict[int, dict[str, Any]] = {}
        self.broken: list[str] = []
        for number, mutant in self.mutants.items():
            row = known_of(mutant)
            if row is not None and row.kind == "elsewhere":
                self.state[number] = {"is": row.kind, "why": row.why}

    def resume(self, file: Path) -> None:
        """Take over what an earlier run of the same catalogue wrote: what was killed is not tried again."""
        for number, row in enumerate(json.loads(file.read_text())["mutants"], 1):
            assert row["id"] == self.mutants[number].id, "another catalogue"
            if number not in self.state and row["is"] not in ("equivalent", "elsewhere"):
                self.state[number] = {key: row[key] for key in ("is", "case", "why", "wave", "cases") if key in row}
                if row["is"] in ("survived", "not reached", "unreached"):
                    self._lives(number, row.get("cases", 0))

    def first(self) -> None:
        """One trial of each mutant, in the source that it was made for."""
        first = [(self.homes[n], n, m) for n, m in self.mutants.items() if n not in self.state]
        self._round(jobs(first, CAP, self.chunk), "first")

    def run(self) -> None:
        """Every trial: a mutant that lives goes on to more cases, and to the other sources that have it."""
        self.first()
        self._elsewhere("modules that come to it", ("not reached",), False)
        left = [(self.homes[n], n, self.mutants[n]) for n in self._left("survived", "robustness")]
        self._round(jobs(left, MOST, self.chunk, True, self.pieces), "more cases")
        self._elsewhere("other modules", ("survived", "robustness"), True)

    def _elsewhere(self, what: str, kinds: Sequence[str], waves: bool) -> None:
        others = [
            (source, n, self.mutants[n])
            for n in self._left(*kinds)
            for source in self.every
            if source.tree == self.mutants[n].tree and self.mutants[n].file in source.files and source != self.homes[n]
        ]
        self._round(jobs(others, CAP, self.chunk, waves, self.pieces), what)

    def write(self, file: Path) -> None:
        """What became of each mutant, so far."""
        rows = [
            {
                "id": m.id,
                "operator": m.operator,
                "unit": m.unit,
                "home": self.homes[n].name,
                **self.state.get(n, {"is": "not reached"}),
            }
            for n, m in self.mutants.items()
        ]
        file.write_text(json.dumps({"mutants": rows, "broken": self.broken}, indent=0))

    def _left(self, *kinds: str) -> list[int]:
        return [n for n in self.mutants if self.state.get(n, {}).get("is", "not reached") in kinds]

    def _round(self, every: Iterable[Job], what: str) -> None:
        every = sorted((replace(job, salt=self.salt) for job in every), key=lambda job: -job.cost)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.workers, context) as pool:
            waiting = {pool.submit(job.run): job for job in every}
            for done in as_completed(waiting):
                job, result = waiting[done], done.result()
                self._take(job, result)
                if self.file is not None:
                    self.write(self.file)
                counts = f"{len(result.killed)} of {len(job.mutants)} killed"
                print(
                    f"{what}: {job.source.name}, waves of {job.wave}: {counts}, {result.running:.0f} s", file=sys.stderr
                )

    def _take(self, job: Job, result: Result) -> None:
        self.broken += result.broken
        for number in job.mutants:
            before = self.state.get(number)
            if before is not None and before["is"] == "killed":
                continue
            if number in result.killed and (
                before is None or not result.killed[number][2] or before["is"] != "robustness"
            ):
                case, why, robustness = result.killed[number]
                kind = "robustness" if robustness else "killed"
                self.state[number] = {"is": kind, "case": case, "why": why, "wave": job.wave}
            elif before is not None and before["is"] == "robustness":
                continue
            elif number in result.not_viable:
                if before is None:
                    self.state[number] = {"is": "not viable", "why": result.not_viable[number]}
            else:
                cases = result.reached.get(number, 0) + (before or {}).get("cases", 0)
                self._lives(number, cases)

    def _lives(self, number: int, cases: int) -> None:
        """What was decided by hand counts only of a mutant that lives, so that a row may be as wide as a reason."""
        row = known_of(self.mutants[number], cases > 0)
        kind = row.kind if row is not None else "survived" if cases else "not reached"
        self.state[number] = {"is": kind, "why": row.why if row is not None else "", "cases": cases}


def group_of(mutant: Mutant) -> str:
    """The operator in the table."""
    return "a bug class" if mutant.operator in bug_classes() else mutant.operator


def table(run: Run, key: Any) -> list[str]:
    kinds = (
        "killed",
        "robustness",
        "survived",
        "not reached",
        "unreached",
        "equivalent",
        "elsewhere",
        "on a GPU",
        "not viable",
    )
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for number, mutant in run.mutants.items():
        counts[key(number, mutant)][run.state.get(number, {"is": "not reached"})["is"]] += 1
    counts["all"] = sum(counts.values(), Counter())
    lines = [f"{'':28}{''.join(f'{kind:>13}' for kind in kinds)}      rate"]
    for name, row in counts.items():
        tried = row["killed"] + row["survived"] + row["not reached"]
        rate = f"{100 * row['killed'] / tried:8.1f}%" if tried else ""
        lines.append(f"{name:28}{''.join(f'{row[kind]:13}' for kind in kinds)} {rate}")
    return lines
