"""The shape of a record. Unknown fields are ignored on reading, so that fields can be added under schema 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, FailFast, Field, model_validator

from conformance.outcome import Count, KernelResult, Row, Texts
from conformance.reading import shortened
from conformance.settings import judged_with
from conformance.spec.entry import ENTRIES, ROWS, Entry
from conformance.spec.load import Specs
from conformance.status import STATUSES, Status

BUILD = "build"
"""The runtime of a record that only says what compiles."""

INTERRUPTED = "interrupted before it was judged"
"""The message of a selected kernel that is ``not_run`` because the run was stopped."""


def _all(kind: type) -> Callable[[object], object]:
    """A check before the fields': that all values of an object are of a kind. It ends with the first that is not."""

    def check(value: object) -> object:
        if isinstance(value, dict):
            for key, one in value.items():
                if not isinstance(one, kind):
                    raise ValueError(f"{shortened(str(key))!r} is of type {type(one).__name__}, not {kind.__name__}")
        return value

    return check


_ByName = Annotated[dict[str, str], BeforeValidator(_all(str))]


class Build(Row):
    """One compilation of the sources for an AMD target."""

    compiler: str
    """The compiler's name and version."""
    started: str
    """When it started: ISO 8601, in UTC."""
    failed: _ByName = Field(default={})
    """By source file that does not compile, the first error."""
    broken: _ByName = Field(default={})
    """By kernel that does not compile, the first error, where the rest of its file compiles without it."""
    lacking: _ByName = Field(default={})
    """By source file, the header that the installation does not have."""


class Port(Row):
    """Whose kernels were judged, as the list of ``candle-parity ports`` says."""

    name: str
    """The port's name."""
    repository: str
    """The address of its repository."""
    commit: str
    """The commit that was judged."""


class RunInfo(Row):
    """What was run, on what, and when."""

    runtime: str
    """"rocm", "cpu", "cuda" or "isa"; "build" where nothing was run and the record has only ``builds``."""
    device: str
    """The device's name, as the runtime says it."""
    wave: int | None = None
    """Lanes of a wave (null: nothing was run)."""
    kernels: str | None = None
    """The path that was judged, as given."""
    files: Count | None = None
    """How many kernel files, sources and code objects, are at that path."""
    started: str
    """When it started: ISO 8601, in UTC."""
    seconds: Annotated[float, Field(ge=0)]
    """Wall time of the run."""
    run_id: str | None = None
    """The value of ``CANDLE_PARITY_RUN_ID``, by which a CI knows its own records."""
    hip_python: str | None = None
    """The version of hip-python."""
    upstream_commit: str
    """The commit of Candle that the specs describe."""
    arch: str | None = None
    """The device's architecture, such as ``gfx942``, as the runtime says it."""
    host: str | None = None
    """The runtime and the machine that it ran on."""
    orders: Texts = ()
    """The thread orders in which kernels were launched, on the runtimes that have them."""
    patterns: Texts = ()
    """The patterns that selected kernels and cases (empty: everything)."""
    port: Port | None = None
    """The port as the list of ``candle-parity ports`` names it (null: it was not judged by that command)."""
    git: str | None = None
    """The port's commit, with "-dirty" where files differ from it (null: it is in none)."""
    harness: str | None = None
    """The commit of candle-parity (null: neither a checkout nor the installed version names it, or the record is older
    than the field)."""
    subject: Literal["kernels", "reference"] = "kernels"
    """"kernels"; or "reference" where recorded answers were compared with the reference and no kernel was run."""
    traces: str | None = None
    """The folder of the recorded launches that were replayed."""
    recorded_on: Texts = ()
    """The devices on which they were recorded, as their files say."""
    program: str | None = None
    """The command line of the program whose launches were recorded and judged (`capture`)."""
    source_lines: Annotated[dict[str, Count], BeforeValidator(_all(int))] = Field(default={})
    """Lines of each source file."""
    sources: str | None = None
    """A digest of everything at ``kernels``."""
    builds: dict[str, Build] = Field(default={})
    """The compilation for each AMD target, by the target's name."""
    specs: str | None = None
    """The folder of ``--specs`` (null: the specs that come with candle-parity)."""
    specs_digest: str | None = None
    """A digest of the specs."""
    sandbox: str | None = None
    """What confined the kernels, or why nothing did."""
    weakened: Texts = ()
    """The settings that weaken checks."""
    selected: Count | None = None
    """How many kernels were selected."""
    complete: bool = True
    """False where the run ended before it had judged every selected kernel."""
    kept: Count | None = None
    """How many verdicts were taken over from earlier runs (``--reuse``)."""
    infrastructure: Texts = ()
    """A sentence for each failure that was not a kernel's doing."""
    fallback: str | None = None
    """Why ``--runtime auto`` took the host although there were signs of an AMD GPU."""
    library: str | None = None
    """On ROCm: the libamdhip64 that was used, and how it was found."""
    other_libraries: Texts = ()
    """On ROCm: those that were found and not used."""
    hip_version: str | None = None
    """On ROCm: the version of HIP."""
    driver: str | None = None
    """On ROCm: the version of the kernel driver."""
    emulator: str | None = None
    """The emulator below ROCm, where no GPU ran the kernels."""
    visible: Texts = ()
    """The variables that hide devices, as they were set."""
    left_out_devices: Texts = ()
    """Devices that were not used because their architecture is another."""
    compiler: str | None = None
    """What ``--compiler`` asked for: "auto" (hiprtc, and hipcc for files that it refuses), "hiprtc" or "hipcc"."""
    config: str | None = None
    """The file that declares the port's choices."""
    declared: str | None = None
    """A digest of these choices (null: no kernel was run, or the record is older than the field)."""
    declared_settings: Texts = ()
    """Which of "runtime", "arch", "wave" and "kernels" were not given on the command line and have their value from the
    file of ``config`` (empty also in records older than the field)."""
    candle_before: str | None = None
    """The commit of Candle from which on the port declares not to follow its changes."""
    target: str | None = None
    """The AMD GPU of ``--arch``: the host showed its macros to the sources, or its machine code was interpreted."""
    shard: str | None = None
    """Which part of a run this is, such as "2/4"; the kernels of the other parts are ``not_run``, "in shard 3/4"."""
    missing_shards: Texts = ()
    """The shards that were not given when records were joined."""
    perturb: Count | None = None
    """The seed of ``--perturb``, by which approximate instructions deviated."""
    options: Texts = ()
    """The compiler options of the command line and of the port's file, such as ``-D NAME=1``, and other options that
    have no field of their own."""
    pinned: str | None = None
    """A digest of the port's pinned cases (null: there are none)."""
    own_digest: str | None = None
    """A digest of the specs, references and launch families of the port's own kernels (null: none was judged)."""

    @property
    def judged_alike(self) -> Hashable:
        """What verdicts depend on, but for what the port declares: the same kernels judged alike have the same ones."""
        how = (self.runtime, self.arch, self.wave, self.orders, self.compiler, self.emulator, self.target, self.perturb)
        of_what = self.specs_digest, self.own_digest, self.pinned, self.harness, self.subject, self.traces
        made_from = self.kernels, self.sources, *of_what
        return how, judged_with(self.options), made_from

    @property
    def of_one_run(self) -> Hashable:
        """What the parts of one run have in common in addition, whatever machines they ran on."""
        return self.judged_alike, self.upstream_commit, self.git, self.specs, self.sandbox, self.weakened


class Summary(Row):
    """Kernels by status, cases, and the coverage: 100 * pass / total, in percent. A known failure is not a pass."""

    total: Count
    """Kernels in ``kernels``."""
    passed: Count = Field(alias="pass")
    """Kernels with the status ``pass``."""
    fail: Count
    """Kernels with the status ``fail``."""
    signature: Count
    """Kernels with the status ``signature``."""
    missing: Count
    """Kernels with the status ``missing``."""
    compile_error: Count
    """Kernels with the status ``compile_error``."""
    crash: Count
    """Kernels with the status ``crash``."""
    timeout: Count
    """Kernels with the status ``timeout``."""
    known_failure: Count
    """Kernels with the status ``known_failure``."""
    not_run: Count
    """Kernels with the status ``not_run``."""
    cases: Count
    """Cases that were run."""
    cases_failed: Count
    """Cases that failed."""
    coverage: Annotated[float, Field(ge=0, le=100)]
    """100 * ``pass`` / ``total``, rounded to 4 decimals."""

    def count(self, status: Status) -> int:
        """How many kernels have ``status``."""
        return int(getattr(self, "passed" if status == "pass" else status))


def _agrees(row: KernelResult) -> KernelResult:
    if row.failed > row.cases:
        raise ValueError(f"kernel {row.name!r}: {row.failed} of {row.cases} cases failed")
    if row.status == "pass" and (not row.cases or row.failed or row.failures):
        raise ValueError(f"kernel {row.name!r}: a pass needs a case or more, none of which failed")
    if row.status in ("fail", "crash", "timeout") and not row.failed and not row.message:
        raise ValueError(f"kernel {row.name!r}: {row.status} without a case that failed and without a message")
    return row


_Results = Iterable[KernelResult]
_Rows = Annotated[tuple[Annotated[KernelResult, AfterValidator(_agrees)], ...], FailFast()]


class Record(Row):
    """One run over every kernel of the specs.

    ``launchers`` are the linked host functions that were selected, ``libraries`` the calls of the vendor's libraries,
    ``own`` all kernels that the port has and Candle has not, where one was selected, ``own_launchers`` likewise its
    launchers: counted apart, and in no figure of the summary. A file has ``own`` and ``own_launchers`` only where there
    are some.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """The version of this format."""
    run: RunInfo
    """What was run, on what, when, and with which settings."""
    summary: Summary
    """Counts of ``kernels``; launchers, library calls and own kernels have no part in it."""
    kernels: _Rows
    """A row for every kernel of the specs, in their order; ``not_run`` where it was not judged."""
    launchers: _Rows = ()
    """A row for each linked host function that was selected."""
    libraries: _Rows = ()
    """A row for each call of a vendor's library that was selected."""
    own: _Rows = ()
    """Where one was selected: a row for every kernel that the port has and Candle has not."""
    own_launchers: _Rows = ()
    """Where one was selected: a row for every launcher that the port has and Candle has not."""

    def rows_of(self, entry: Entry) -> tuple[KernelResult, ...]:
        """The rows of one kind: of kernels, of launchers, of library calls, of own kernels, or of own launchers."""
        rows: tuple[KernelResult, ...] = getattr(self, ROWS[entry].part)
        return rows

    @property
    def of_port(self) -> tuple[KernelResult, ...]:
        """The rows of what the port has and Candle has not: own kernels, then own launchers."""
        return (*self.own, *self.own_launchers)

    @property
    def rows(self) -> tuple[KernelResult, ...]:
        """Every row, of whatever kind."""
        return tuple(row for entry in ENTRIES for row in self.rows_of(entry))

    @classmethod
    def of(
        cls, run: RunInfo, kernels: _Results, launchers: _Results = (), libraries: _Results = (), own: _Results = ()
    ) -> Record:
        """The record of ``kernels``, with its summary; see ``every_kernel`` for a complete list."""
        return cls.of_parts(run, {"kernel": kernels, "launcher": launchers, "library": libraries, "own": own})

    @classmethod
    def of_parts(cls, run: RunInfo, parts: Mapping[Entry, _Results]) -> Record:
        """The same of rows by kind of entry."""
        rows: dict[str, Any] = {ROWS[entry].part: tuple(part) for entry, part in parts.items()}
        return cls(run=run, summary=summarise(rows["kernels"]), **rows)

    def with_parts(self, parts: Mapping[Entry, _Results], run: RunInfo | None = None) -> Record:
        """The record with these rows in the place of its own of the same kinds, and with another ``run`` if given."""
        every = {entry: self.rows_of(entry) for entry in ENTRIES}
        return Record.of_parts(self.run if run is None else run, {**every, **parts})

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = Counter(kernel.name for kernel in self.rows)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ValueError(f"kernel {twice[0]!r} is recorded twice")
        counted = summarise(self.kernels)
        if self.run.selected is not None and self.run.selected > counted.total:
            raise ValueError(f"{self.run.selected} kernels were selected, of {counted.total}")
        if counted != self.summary:
            wrong = [key for key, value in counted if value != getattr(self.summary, key)]
            raise ValueError(f"the summary does not agree with the kernels in {', '.join(wrong)}")
        return self


def summarise(kernels: Iterable[KernelResult]) -> Summary:
    """The counts of ``kernels`` by status. The coverage is rounded to 4 decimals, and 0 without kernels."""
    rows = list(kernels)
    counts = Counter(row.status for row in rows)
    return Summary.model_validate(
        {
            "total": len(rows),
            **{status: counts[status] for status in STATUSES},
            "cases": sum(row.cases for row in rows),
            "cases_failed": sum(row.failed for row in rows),
            "coverage": round(100 * counts["pass"] / len(rows), 4) if rows else 0.0,
        }
    )


def every_kernel(specs: Specs, results: Iterable[KernelResult]) -> list[KernelResult]:
    """``results`` in spec order, with a ``not_run`` row for each kernel of the specs that has none.

    Raises ``ValueError`` for a result of a kernel that no spec has.
    """
    given = {result.name: result for result in results}
    unknown = sorted(given.keys() - specs.kernels.keys())
    if unknown:
        raise ValueError(f"a result for {unknown[0]}, which no spec has")
    return [given.get(name) or KernelResult.not_run(kernel) for name, kernel in specs.kernels.items()]
