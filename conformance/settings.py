"""What a run takes from its user: a row for each option.

A row is a field: name, type, default, flags, help, which commands have it, whether ``candle-parity.toml`` has the key
and pytest the option (``--parity-...``), and whether the reproducing command and the record name it. The command line,
the pytest options, the keys of the file and docs/options.md are made of these rows. ``Settings`` goes to every process
of a run, as its ``Setup``. An installed pytest plugin imports this file, so that it imports next to nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self, get_args

from conformance.files import kernels_path, kernels_word
from conformance.option import (
    CHOICE,
    COMPILATION,
    COMPILING,
    GATE,
    JUDGING,
    LAUNCHING,
    OUTPUT,
    RENDERING,
    RUN,
    Option,
    Options,
    Shard,
    compiling,
    header,
    json_file,
    judging,
    launching,
    option,
    percentage,
    reporting,
    seconds,
    seed,
    shard_of,
    workers,
)
from conformance.runtimes import AUTO, NAMES

RUN_ON = NAMES
"""The runtimes that a run can be on."""

RUNTIMES = (AUTO, *NAMES)
"""Those that can be asked for: ``auto`` is one of the others."""

DIALECTS = ("auto", "hip", "cuda")
"""``auto`` is told by each source."""

CompilerChoice = Literal["auto", "hiprtc", "hipcc"]
COMPILERS: tuple[CompilerChoice, ...] = get_args(CompilerChoice)
COMPILE_SECONDS = 300.0

PREFIX = "parity_"
"""Of the names that options have in pytest's ``config.option``."""


@dataclass(frozen=True)
class Settings(Options):
    """How kernels are compiled and launched, in the order of the command that reproduces a failure."""

    salt: str = option(
        "",
        "--seed-salt",
        metavar="S",
        group=CHOICE,
        help="other data for the same cases",
        commands=("run", "export", "record", "compare"),
        repeated=True,
    )
    runtime: str = option(
        AUTO,
        "--runtime",
        choices=RUNTIMES,
        group=RUN,
        help="what runs the kernels (default: auto)",
        commands=(*LAUNCHING, "doctor"),
        in_file=True,
        pytest=True,
        repeated=True,
    )
    wave: int | None = launching(
        None,
        "--wave",
        read=int,
        choices=(32, 64),
        help="wave size of the cpu runtime (default: 64, and 32 for CUDA sources)",
        in_file=True,
        pytest=True,
        repeated=True,
    )
    arch: str | None = launching(
        None,
        "--arch",
        metavar="GFX",
        help="cpu runtime: the AMD GPU whose macros sources see; isa: whose machine code is interpreted (gfx942)",
        compiles=True,
        in_file=True,
        repeated=True,
    )
    perturb: int = judging(
        0,
        "--perturb",
        read=seed,
        metavar="SEED",
        help="isa runtime: approximate instructions deviate within their documented error, by this seed",
        commands=(*JUDGING, "compare"),
        repeated=True,
    )
    compiler: CompilerChoice = launching(
        "auto",
        "--compiler",
        choices=COMPILERS,
        group=COMPILATION,
        help="rocm runtime: what compiles (default: hiprtc, and hipcc for files that it refuses)",
        pytest=True,
        repeated=True,
    )
    compile_seconds: float = launching(
        COMPILE_SECONDS,
        "--compile-timeout",
        read=seconds,
        metavar="S",
        group=COMPILATION,
        help=f"seconds of CPU time for a file ({COMPILE_SECONDS:g})",
        pytest=True,
    )
    reuse: bool = option(
        False,
        "--reuse",
        read=bool,
        group=RUN,
        help="on the host: a kernel whose code object, cases and harness have passed before passes",
        commands=("run",),
    )
    all_cases: bool | None = option(
        None,
        "--all-cases",
        read=bool,
        group=CHOICE,
        help="also the cases without a part in the verdict: launches that Candle's Rust never makes",
        commands=("run", "compare"),
        in_file=True,
        pytest=True,
    )
    sandbox: bool = launching(
        True, "--no-sandbox", read=bool, help="cpu runtime: do not confine what runs kernels", pytest=True
    )
    kernels: Path | None = option(
        None,
        "--kernels",
        read=kernels_path,
        write=kernels_word,
        metavar="PATH",
        group=CHOICE,
        help="a folder or file of .hip, .cu or .hsaco; shipped: the kernels that come with candle-parity",
        commands=(*COMPILING, "wiring"),
        compiles=True,
        repeated=True,
        in_file=True,
        pytest=True,
    )
    include_dirs: tuple[Path, ...] = compiling(
        (), "-I", "--include-dir", read=Path, metavar="DIR", help="search headers here too", in_file=True
    )
    defines: tuple[str, ...] = compiling(
        (), "-D", "--define", metavar="NAME[=VALUE]", help="define a macro", in_file=True
    )
    undefines: tuple[str, ...] = compiling((), "-U", "--undefine", metavar="NAME", help="after every -D", in_file=True)
    forced_includes: tuple[Path, ...] = compiling(
        (),
        "--include",
        read=header,
        metavar="HEADER",
        help="include this header before each source: a file, or a name that the compiler finds (hip/hip_fp16.h)",
        in_file=True,
    )
    std: str | None = compiling(None, "--std", metavar="STANDARD", help="the standard of C++ (c++20)", in_file=True)
    flags: tuple[str, ...] = compiling(
        (),
        "--flag",
        metavar="FLAG",
        help="a further option of the compiler (--flag=-ffast-math); those for GPUs do nothing on the host",
        in_file=True,
    )
    config: Path | None = option(
        None,
        "--config",
        read=Path,
        metavar="FILE",
        group=CHOICE,
        help="what the port says of itself (default: its candle-parity.toml or pyproject.toml)",
        commands=(*COMPILING, "list", "export", "wiring"),
        pytest=True,
        compiles=True,
        repeated=True,
    )
    dialect: str | None = option(
        None,
        "--dialect",
        choices=DIALECTS,
        group=COMPILATION,
        help="language of the sources (default: .cu files without HIP's headers are CUDA)",
        commands=(*LAUNCHING, "check"),
        in_file=True,
        compiles=True,
        repeated=True,
    )
    orders: tuple[str, ...] = judging(
        (),
        "--order",
        metavar="ORDER",
        help="thread order of the cpu and isa runtimes: forward, reverse or shuffle:SEED; may be given several times",
        commands=(*JUDGING, "compare"),
        repeated=True,
    )
    specs: Path | None = option(
        None,
        "--specs",
        read=Path,
        metavar="DIR",
        group=CHOICE,
        help="specs other than the shipped ones",
        commands=(*COMPILING, "list", "export", "report", "board", "drift", "wiring"),
        repeated=True,
    )

    own: bool = option(
        False,
        "--own",
        read=bool,
        group=CHOICE,
        help="judge the port's own kernels too: runs its reference functions, Python outside of the sandbox",
        commands=(*LAUNCHING, "export"),
        pytest=True,
        repeated=True,
    )

    def filled(self, file: Settings) -> Self:
        """These settings, and those of the port's ``file`` where they have their default. What sources are compiled
        with is not among them (``conformance.port.options``), but for ``arch``, which the runtime needs too."""
        rows = [row for row in Settings.rows() if row.in_file and (not row.compiles or row.name == "arch")]
        return replace(self, **{row.name: getattr(file, row.name) for row in rows if self._is_default(row)})

    def _is_default(self, row: Option) -> bool:
        return bool(getattr(self, row.name) == row.default)

    def repeated(self, args: Iterable[str]) -> str:
        """The command that begins with ``args`` and repeats these settings."""
        rows = [row for row in Settings.rows() if row.repeated]
        return " ".join([*args, *(shlex.quote(arg) for row in rows for arg in row.args(getattr(self, row.name)))])

    def recorded(self) -> tuple[str, ...]:
        """What the record's ``run.options`` has besides what sources were compiled with: ``--seed-salt S``."""
        rows = [row for row in Settings.rows() if row.recorded]
        return tuple(" ".join(args) for row in rows if (args := row.args(getattr(self, row.name))))


NO_SETTINGS = Settings()


def judged_with(options: Iterable[str]) -> tuple[str, ...]:
    """Those of a record's ``run.options`` that ``Settings.recorded`` wrote."""
    flags = {row.flags[0] for row in Settings.rows() if row.recorded}
    return tuple(one for one in options if one.split(" ")[0] in flags)


@dataclass(frozen=True)
class Gate(Options):
    """What a run has to come to; in the file the keys of the table ``[gate]``."""

    fail_under: float | None = reporting(
        None,
        "--fail-under",
        read=percentage,
        metavar="PCT",
        group=GATE,
        help="exit 0 when the coverage reaches this, else 1",
        in_file=True,
        pytest=True,
    )
    fail_under_launchers: float | None = reporting(
        None,
        "--fail-under-launchers",
        read=percentage,
        metavar="PCT",
        group=GATE,
        help="the same for the linked launchers, which are counted apart from the kernels",
        in_file=True,
        pytest=True,
    )
    fail_under_own: float | None = reporting(
        None,
        "--fail-under-own",
        read=percentage,
        group=GATE,
        metavar="PCT",
        help="the same for the port's own kernels (--own), which are counted apart from Candle's",
        in_file=True,
        pytest=True,
    )
    baseline: Path | None = reporting(
        None,
        "--baseline",
        read=Path,
        metavar="RECORD",
        group=GATE,
        help="exit 1 when a kernel or case is worse than in this record",
        in_file=True,
        pytest=True,
    )
    strict: bool | None = reporting(
        None,
        "--strict",
        read=bool,
        group=GATE,
        help="with a gate: a failure is exit 1 all the same",
        in_file=True,
        pytest=True,
    )
    update_baseline: bool = reporting(
        False, "--update-baseline", read=bool, group=GATE, help="write the new baseline, unless something became worse"
    )


NO_GATE = Gate()


@dataclass(frozen=True)
class Session(Options):
    """How a command selects, works and reports: no process of a run needs it."""

    module: tuple[str, ...] = option(
        (),
        "--module",
        metavar="M",
        group=CHOICE,
        help="only the kernels of this module; may be given several times",
        commands=(*LAUNCHING, "check", "list", "export"),
    )
    jobs: int | None = launching(None, "-j", "--jobs", read=workers, metavar="N", help="judges (default: one per core)")
    shard: Shard | None = judging(
        None,
        "--shard",
        read=shard_of,
        metavar="I/N",
        group=CHOICE,
        help="the I-th of N parts of the selected kernels; `report` joins them",
    )
    resume: bool = judging(False, "--resume", read=bool, help="go on with a run of the same options that was cut off")
    watch: bool = option(
        False,
        "--watch",
        read=bool,
        group=RUN,
        help="judge again whenever a file of the port changes; needs candle-parity[watch]",
        commands=("run",),
    )
    quiet: bool = judging(
        False, "-q", "--quiet", read=bool, group=OUTPUT, help="print the verdict in one line, and errors"
    )
    verbose: bool = judging(
        False,
        "-v",
        "--verbose",
        read=bool,
        group=OUTPUT,
        help="print a failure of every failing kernel, not of each cause only, and notes on cases that are in no "
        "verdict",
    )
    json: Path | None = reporting(None, "--json", read=json_file, metavar="F", help="write the record", pytest=True)
    md: Path | None = option(
        None, "--md", read=Path, metavar="F", group=OUTPUT, help="write the report as Markdown", commands=RENDERING
    )
    html: Path | None = option(
        None, "--html", read=Path, metavar="F", group=OUTPUT, help="write the report as HTML", commands=RENDERING
    )
    summary: Path | None = reporting(
        None, "--summary", read=Path, metavar="F", help="write a short report as Markdown, for CI"
    )
    junit: Path | None = reporting(
        None, "--junit", read=Path, metavar="F", help="write a test case per kernel as JUnit XML"
    )


OPTIONS = (*Settings.rows(), *Gate.rows(), *Session.rows())
