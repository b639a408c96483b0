"""``python -m tests.fuzz``: cases and files at random until the time is up; what is found is printed, shrunk."""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.fuzz.hunt import Tally, Test, hunt, of_kernels
from tests.fuzz.judges import RUNTIMES, Judges
from tests.fuzz.parsers import PARSERS, of_parser

Make = Callable[[set[str]], Test | None]


def _rounds(arguments: argparse.Namespace, judges: Judges, tally: Tally, until: float) -> Iterator[tuple[str, Make]]:
    """The modules and parsers that were asked for, again and again."""
    modules = defaultdict(list)
    for kernel in judges.kernels.values():
        modules[kernel.module].append(kernel)
    wanted = arguments.module or sorted(modules)

    def left(module: str, known: set[str]) -> Test | None:
        kernels = [kernel for kernel in modules[module] if kernel.name not in known]
        return of_kernels(judges, kernels, tally, until) if kernels else None

    def parser(name: str, known: set[str]) -> Test | None:
        return None if name in known else of_parser(name, PARSERS[name], tally, until)

    makes: list[tuple[str, Make]] = [(module, partial(left, module)) for module in wanted if module in modules]
    if not arguments.no_parsers:
        makes += [(name, partial(parser, name)) for name in PARSERS if not arguments.module or name in arguments.module]
    if not makes:
        sys.exit(f"nothing is called {' or '.join(wanted)}; known: {', '.join([*sorted(modules), *PARSERS])}")
    return itertools.cycle(makes[arguments.part - 1 :: arguments.jobs])


def _parts(arguments: argparse.Namespace) -> int:
    """A process for each part of the modules, which say what they find as they find it."""
    words = [sys.executable, "-m", "tests.fuzz", *sys.argv[1:]]
    parts = [subprocess.Popen([*words, "--part", str(part)]) for part in range(1, arguments.jobs + 1)]
    return max([part.wait() for part in parts])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument(
        "--module", action="append", help="a module of the specs, or a parser; may be given several times"
    )
    parser.add_argument("--runtime", action="append", choices=RUNTIMES, help="several: each case by all of them")
    parser.add_argument("--kernels", type=Path, help="a tree; ours without it")
    parser.add_argument("-I", "--include", type=Path, action="append", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes, each with a part of the modules")
    parser.add_argument("--part", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--no-parsers", action="store_true", help="kernels alone")
    arguments = parser.parse_args()
    if arguments.jobs > 1 and not arguments.part:
        return _parts(arguments)
    arguments.part = arguments.part or 1
    tally, until = Tally(), time.monotonic() + 60 * arguments.minutes
    with Judges(arguments.runtime or ["cpu"], arguments.kernels, arguments.include) as judges:
        print(*judges.ready, sep="\n", flush=True)
        say = partial(print, flush=True)
        hunt(_rounds(arguments, judges, tally, until), arguments.seed, until, tally, say)
    print(*(f"{name}: {count} inputs" for name, count in sorted(tally.tried.items())), sep="\n")
    print(f"{sum(tally.tried.values())} inputs, {len(tally.finds)} finds", *tally.finds, sep="\n", flush=True)
    return 1 if tally.finds else 0


if __name__ == "__main__":
    sys.exit(main())
