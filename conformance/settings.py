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
class ExecutorSettings(Options):
    """The settings that an executor gets, the process in which a port's code runs. It gets no others.

    The values are plain Python ones, since an executor loads no pydantic.
    """

    runtime: str = option(
        AUTO,
        "--runtime",
        choices=RUNTIMES,
        group=RUN,
        help="what executes the kernels (default: auto, which takes an AMD GPU if there is one, else the host)",
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
        help="wave size of the cpu runtime (default: that of --arch, else 64, and 32 for CUDA sources)",
        in_file=True,
        pytest=True,
        repeated=True,
    )
    sandbox: bool = launching(
        True, "--no-sandbox", read=bool, help="cpu runtime: run kernels without the sandbox", pytest=True
    )


@dataclass(frozen=True)
class Settings(ExecutorSettings):
    """How kernels are chosen, compiled and launched. The fields are in the order of the command that reproduces a
    failure.

    ``Settings(runtime="cpu", wave=32)`` is ``--runtime cpu --wave 32``.
    """

    salt: str = option(
        "",
        "--seed-salt",
        metavar="S",
        group=CHOICE,
        help="draw other input data for the same cases; S is any text",
        commands=("run", "export", "record", "compare"),
        repeated=True,
    )
    arch: str | None = launching(
        None,
        "--arch",
        metavar="GFX",
        help="the AMD GPU: on the cpu runtime sources see its macros; on the isa runtime its machine code is "
        "interpreted (there the default is gfx942)",
        compiles=True,
        in_file=True,
        repeated=True,
    )
    perturb: int = judging(
        0,
        "--perturb",
        read=seed,
        metavar="SEED",
        help="isa runtime: let approximate instructions deviate within their documented error; SEED chooses how",
        commands=(*JUDGING, "compare"),
        repeated=True,
    )
    compiler: CompilerChoice = launching(
        "auto",
        "--compiler",
        choices=COMPILERS,
        group=COMPILATION,
        help="rocm runtime: the compiler (default: auto, which is hiprtc, and hipcc for files that hiprtc refuses)",
        pytest=True,
        repeated=True,
    )
    compile_seconds: float = launching(
        COMPILE_SECONDS,
        "--compile-timeout",
        read=seconds,
        metavar="S",
        group=COMPILATION,
        help=f"stop the compilation of a file after S seconds of CPU time (default: {COMPILE_SECONDS:g})",
        pytest=True,
    )
    reuse: bool = option(
        False,
        "--reuse",
        read=bool,
        group=RUN,
        help="on the host: do not run a kernel again that has passed with the same code object, cases and harness",
        commands=("run",),
    )
    all_cases: bool | None = option(
        None,
        "--all-cases",
        read=bool,
        group=CHOICE,
        help="also run cases that do not count for the verdict, such as launches that Candle's Rust code never makes",
        commands=("run", "compare"),
        in_file=True,
        pytest=True,
    )
    kernels: Path | None = option(
        None,
        "--kernels",
        read=kernels_path,
        write=kernels_word,
        metavar="PATH",
        group=CHOICE,
        help="what to judge: a file or folder of .hip, .cu or .hsaco; or the word shipped, for the kernels that come "
        "with candle-parity",
        commands=(*COMPILING, "wiring"),
        compiles=True,
        repeated=True,
        in_file=True,
        pytest=True,
    )
    include_dirs: tuple[Path, ...] = compiling(
        (), "-I", "--include-dir", read=Path, metavar="DIR", help="search this folder for headers", in_file=True
    )
    defines: tuple[str, ...] = compiling(
        (), "-D", "--define", metavar="NAME[=VALUE]", help="define a macro", in_file=True
    )
    undefines: tuple[str, ...] = compiling(
        (), "-U", "--undefine", metavar="NAME", help="undefine a macro; this comes after every -D", in_file=True
    )
    forced_includes: tuple[Path, ...] = compiling(
        (),
        "--include",
        read=header,
        metavar="HEADER",
        help="include this header before each source: a file, or a name that the compiler finds (hip/hip_fp16.h)",
        in_file=True,
    )
    std: str | None = compiling(None, "--std", metavar="STANDARD", help="the C++ standard, such as c++20", in_file=True)
    flags: tuple[str, ...] = compiling(
        (),
        "--flag",
        metavar="FLAG",
        help="another option for the compiler, such as --flag=-ffast-math; options for GPUs have no effect on the host",
        in_file=True,
    )
    config: Path | None = option(
        None,
        "--config",
        read=Path,
        metavar="FILE",
        group=CHOICE,
        help="the file that declares the port (default: a candle-parity.toml or pyproject.toml in or next to the "
        "folder of --kernels; without --kernels, in the working directory)",
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
        help="the language of the sources (default: auto: .cu files without HIP's headers are CUDA, all others HIP)",
        commands=(*LAUNCHING, "check"),
        in_file=True,
        compiles=True,
        repeated=True,
    )
    orders: tuple[str, ...] = judging(
        (),
        "--order",
        metavar="ORDER",
        help="a thread order of the cpu or isa runtime: forward, reverse or shuffle:SEED; may be given several times",
        commands=(*JUDGING, "compare"),
        repeated=True,
    )
    specs: Path | None = option(
        None,
        "--specs",
        read=Path,
        metavar="DIR",
        group=CHOICE,
        help="a folder of specs to use in the place of those that come with candle-parity",
        commands=(*COMPILING, "list", "export", "report", "board", "drift", "wiring"),
        repeated=True,
    )

    own: bool = option(
        False,
        "--own",
        read=bool,
        group=CHOICE,
        help="also judge the port's own kernels; this runs its reference functions, which are Python code outside of "
        "the sandbox",
        commands=(*LAUNCHING, "export"),
        pytest=True,
        repeated=True,
    )

    pinned: Path | None = option(
        None,
        "--pinned",
        read=Path,
        metavar="DIR",
        group=CHOICE,
        help="also judge the launches that `new --case-from` has kept in this folder (default: the folder pinned next "
        "to candle-parity.toml, if there is one)",
        commands=("run", "list"),
        in_file=True,
        pytest=True,
        repeated=True,
    )

    def filled(self, file: Settings) -> Self:
        """These settings, with the values of the port's ``file`` for those that have their default.

        Options for the compiler are not filled in here, as both sources count there (``conformance.port.options``).
        ``arch`` is, because the runtime needs it too. Nor is ``pinned``, as the file leads to that folder each time
        (``conformance.session.pinned``).
        """
        rows = [row for row in Settings.rows() if row.in_file and (not row.compiles or row.name == "arch")]
        rows = [row for row in rows if row.name != "pinned"]
        return replace(self, **{row.name: getattr(file, row.name) for row in rows if self._is_default(row)})

    def _is_default(self, row: Option) -> bool:
        return bool(getattr(self, row.name) == row.default)

    def repeated(self, args: Iterable[str]) -> str:
        """The command that begins with ``args`` and has the same effect: every ``repeated`` option with its value,
        quoted."""
        rows = [row for row in Settings.rows() if row.repeated]
        return " ".join([*args, *(shlex.quote(arg) for row in rows for arg in row.args(getattr(self, row.name)))])

    def recorded(self) -> tuple[str, ...]:
        """The ``recorded`` options as they stand in ``run.options`` of a record: ``("--seed-salt S",)``."""
        rows = [row for row in Settings.rows() if row.recorded]
        return tuple(" ".join(args) for row in rows if (args := row.args(getattr(self, row.name))))


NO_SETTINGS = Settings()


def judged_with(options: Iterable[str]) -> tuple[str, ...]:
    """Those of a record's ``run.options`` that change verdicts (``Settings.recorded``), without options for the
    compiler."""
    flags = {row.flags[0] for row in Settings.rows() if row.recorded}
    return tuple(one for one in options if one.split(" ")[0] in flags)


@dataclass(frozen=True)
class Gate(Options):
    """What a run is required to achieve. In ``candle-parity.toml`` these are the keys of the table ``[gate]``."""

    fail_under: float | None = reporting(
        None,
        "--fail-under",
        read=percentage,
        metavar="PCT",
        group=GATE,
        help="a gate: exit 0 if at least this percentage of all kernels is at parity, else 1",
        in_file=True,
        pytest=True,
    )
    fail_under_launchers: float | None = reporting(
        None,
        "--fail-under-launchers",
        read=percentage,
        metavar="PCT",
        group=GATE,
        help="the same gate for launchers, which are counted apart from kernels",
        in_file=True,
        pytest=True,
    )
    fail_under_own: float | None = reporting(
        None,
        "--fail-under-own",
        read=percentage,
        group=GATE,
        metavar="PCT",
        help="the same gate for the port's own kernels and launchers (--own), which are counted apart from Candle's",
        in_file=True,
        pytest=True,
    )
    baseline: Path | None = reporting(
        None,
        "--baseline",
        read=Path,
        metavar="RECORD",
        group=GATE,
        help="a gate: exit 1 if a kernel or a case is worse than in this record",
        in_file=True,
        pytest=True,
    )
    strict: bool | None = reporting(
        None,
        "--strict",
        read=bool,
        group=GATE,
        help="exit 1 for any failure that is not declared, even if the gates are met",
        in_file=True,
        pytest=True,
    )
    update_baseline: bool = reporting(
        False,
        "--update-baseline",
        read=bool,
        group=GATE,
        help="write what became better into the baseline; it stays as it is if something became worse",
    )


NO_GATE = Gate()


@dataclass(frozen=True)
class Session(Options):
    """How a command selects kernels, how many processes it uses, and what it prints. No other process of a run needs
    it."""

    module: tuple[str, ...] = option(
        (),
        "--module",
        metavar="M",
        group=CHOICE,
        help="only kernels of this module, such as unary; may be given several times",
        commands=(*LAUNCHING, "check", "list", "export"),
    )
    jobs: int | None = launching(
        None,
        "-j",
        "--jobs",
        read=workers,
        metavar="N",
        help="how many judge processes run at a time (default: one for each core)",
    )
    shard: Shard | None = judging(
        None,
        "--shard",
        read=shard_of,
        metavar="I/N",
        group=CHOICE,
        help="judge only the I-th of N parts of the selected kernels; `report` joins the records",
    )
    resume: bool = judging(False, "--resume", read=bool, help="continue an interrupted run that had the same options")
    watch: bool = option(
        False,
        "--watch",
        read=bool,
        group=RUN,
        help="judge again whenever a file of the port changes; needs the extra candle-parity[watch]",
        commands=("run",),
    )
    quiet: bool = judging(
        False, "-q", "--quiet", read=bool, group=OUTPUT, help="print only the verdict, in one line, and errors"
    )
    verbose: bool = judging(
        False,
        "-v",
        "--verbose",
        read=bool,
        group=OUTPUT,
        help="print a failure of every failing kernel instead of one for each cause, and notes on cases that do not "
        "count",
    )
    json: Path | None = reporting(
        None, "--json", read=json_file, metavar="F", help="write the record as JSON; - is standard output", pytest=True
    )


OPTIONS = (*Settings.rows(), *Gate.rows(), *Session.rows())
