"""``python -m tests.selftest``: how many mutants the harness kills, by module and operator, and which survive."""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from tests.selftest.alone import tried
from tests.selftest.campaign import Run, group_of, table
from tests.selftest.catalogue import Source, alone, is_equivalent_launch, of_bug_classes, sampled, sources
from tests.selftest.given import try_outputs
from tests.selftest.judges import by_port, report, resumed, run
from tests.selftest.machine_code import try_machine_code
from tests.selftest.mutants import of_reference, of_specs
from tests.selftest.ported import ported_cases
from tests.selftest.recordings import recorded_cases
from tests.selftest.trial import run_launches
from tests.selftest.variants import candles, try_variants, variants


def _others(arguments: argparse.Namespace, every: Sequence[Source]) -> None:
    """Everything that is not a mutant of a source."""
    share = arguments.count / 40_000
    given = [job for one in every for job in [(one.root, one.stem, one.kernels, share)]]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, context) as pool:
        launches = [pool.submit(run_launches, *row) for row in given if "candle" not in str(row[0])]
        edits = {row: pool.submit(tried, row) for row in alone()}
        outputs = pool.submit(try_outputs)
        found: dict[str, dict[str, Any]] = {
            "launches": {key: value for one in launches for key, value in one.result().items()},
            "compiled alone": {f"{row.bug_class}: {row.file}: {row.old}": one.result() for row, one in edits.items()},
            "outputs": outputs.result(),
        }
    for title, rows in found.items():
        wrong = {name: answer for name, answer in rows.items() if not is_equivalent_launch(name)}
        lived = [name for name, answer in wrong.items() if not isinstance(answer, str)]
        print(f"\n{title}: {len(wrong) - len(lived)} of {len(wrong)} killed", *sorted(lived), sep="\n  ")


def _right(arguments: argparse.Namespace) -> None:
    """How many right kernels are rejected."""
    every = [*variants(), *(candles(arguments.candle) if arguments.candle else [])]
    verdicts = try_variants(every, arguments.salts, arguments.arch, arguments.jobs)
    passed = {(one.variant.what, name) for one in verdicts for name in one.passed}
    rejected = [(one.variant.what, one.run, name, why) for one in verdicts for name, why in one.rejected.items()]
    kernels = len(passed | {(what, name) for what, _, name, _ in rejected})
    print(f"{kernels} right kernels and launchers of {len(every)} variants in {len(verdicts)} runs")
    print(f"{len(rejected)} rejected")
    for row in rejected:
        print(*row, sep=": ")


def _judges(arguments: argparse.Namespace) -> None:
    """What recorded answers say of wrong references and specs: a seventh of the mutants are of specs."""
    started = time.monotonic()
    every = recorded_cases()
    print(f"{len(every)} recorded cases, {time.monotonic() - started:.0f} s", flush=True)
    kernels = list({one.kernel.name: one.kernel for one in every}.values())
    specs = arguments.count // 7
    mutants = [*of_reference(arguments.count - specs, arguments.seed), *of_specs(kernels, specs, arguments.seed)]
    found = resumed(arguments.resume) if arguments.resume else {}
    run(mutants, every, found, arguments.json)
    print(f"judged by recorded answers, {time.monotonic() - started:.0f} s", flush=True)
    by_port(mutants, ported_cases(sorted({one.kernel.module for one in every})), found, arguments.json)
    print(*report(mutants, found), _used(started), sep="\n")


def _used(started: float) -> str:
    """What the command took."""
    every = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in every)
    return f"{time.monotonic() - started:.0f} s, {cpu:.0f} s of CPU"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.selftest", description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("-n", "--count", type=int, default=3600, help="mutants by the general operators")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--candle", type=Path, help="a checkout, whose own kernels are mutated too")
    parser.add_argument("--only", action="append", help="a source, such as ours/sort; may be given several times")
    parser.add_argument("--json", type=Path, help="write what became of each mutant")
    parser.add_argument("--resume", type=Path, help="such a file: what was killed there is not tried again")
    parser.add_argument("--salt", default="", help="other data: what lives with one and not with another is luck")
    parser.add_argument("--variants", action="store_true", help="right kernels in place of wrong ones")
    parser.add_argument("--salts", type=int, default=10, help="of --variants: the data of so many salts")
    parser.add_argument(
        "--arch", action="append", default=[], help="of --variants: as machine code for this target too"
    )
    parser.add_argument(
        "--judges", action="store_true", help="mutants of the reference and the specs in place of kernels"
    )
    parser.add_argument("--machine-code", action="store_true", help="instructions in place of sources, by --arch")
    parser.add_argument("--others", action="store_true", help="launches, outputs and lone compilations alone")
    arguments = parser.parse_args()
    if arguments.machine_code:
        try_machine_code(arguments)
        return 0
    if arguments.variants:
        _right(arguments)
        return 0
    if arguments.judges:
        _judges(arguments)
        return 0
    every = [one for one in sources(arguments.candle) if not arguments.only or one.name in arguments.only]
    started = time.monotonic()
    if arguments.others:
        _others(arguments, every)
        return 0
    mutants = [*of_bug_classes(every), *sampled(every, arguments.count, arguments.seed)]
    run = Run(mutants, arguments.jobs, every, arguments.json, arguments.salt)
    if arguments.resume:
        run.resume(arguments.resume)
    run.run()
    for title, key in (("source", lambda n, _: run.homes[n].name), ("operator", lambda _, m: group_of(m))):
        print(f"\nby {title}", *table(run, key), sep="\n")
    for kind in ("survived", "not reached"):
        states = {n: run.state.get(n, {"is": "not reached"}) for n in run.mutants}
        rows = [(run.mutants[n], state) for n, state in states.items() if state["is"] == kind]
        print(f"\n{kind}: {len(rows)}")
        for mutant, state in sorted(rows, key=lambda row: row[0].id):
            print(f"{mutant.id}   [{mutant.unit[:150]}] {state.get('cases', 0)} cases")
    print(*run.broken, sep="\n")
    print(_used(started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
