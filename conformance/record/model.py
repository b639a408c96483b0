"""The shape of a record. Unknown fields are ignored on reading, so that fields can be added under schema 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from conformance.outcome import INFRASTRUCTURE, STATUSES, Failure, Observation, Robustness, Status, Ulp
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs

Count = Annotated[int, Field(ge=0)]

INTERRUPTED = "interrupted before it was judged"
"""The message of a selected kernel that is ``not_run`` because the run was stopped."""


class Row(BaseModel):
    """A JSON object that is not changed once made."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, populate_by_name=True)


class Resources(Row):
    """What a kernel takes in a code object: that it compiles for a target, and nothing of its results.

    ``vgpr`` and ``sgpr`` are registers, ``spills`` registers of both kinds written to memory, ``lds`` the static shared
    memory of a block, ``scratch`` the memory of a thread and ``kernarg`` the argument segment, all three in bytes;
    ``wave`` is in lanes.
    """

    vgpr: Count
    sgpr: Count
    spills: Count
    lds: Count
    scratch: Count
    wave: Count
    kernarg: Count


class Build(Row):
    """One compilation of the sources for an AMD target: by what and when (ISO 8601 in UTC).

    ``failed`` has the first error of each source file that does not compile, ``broken`` that of each kernel which does
    not in a file that compiles without it; ``lacking`` says of files which header the installation does not have.
    """

    compiler: str
    started: str
    failed: dict[str, str] = {}
    broken: dict[str, str] = {}
    lacking: dict[str, str] = {}


class KernelResult(Row):
    """What became of one kernel.

    ``cases`` were run and ``failed`` of them failed; ``failures`` may hold fewer. ``max_ulp`` is over all cases,
    ``max_ulp_bound`` what was allowed of that element (null: it is wrong, nothing was off, or the record is older than
    the field); ``nearest_ulp`` of ``nearest_ulp_bound`` is the right element that came nearest to its bound.
    ``planned`` is the number of cases that were selected, where not all were run (else 0). ``robustness`` has the cases
    that Candle's Rust side never launches, which nothing else counts.
    ``source`` is ``FILE:LINE`` in the port and ``upstream`` in Candle; ``source_lines`` counts the lines of the
    kernel's definition; ``message`` says what a status without cases is about, such as the compiler's error.
    ``seconds`` is wall time. ``compiles_for`` has an entry for each AMD target that the kernel was compiled for.
    ``wired_at`` says where Candle's Rust side asks for the kernel (nowhere: empty; unknown: null). ``left_out`` counts
    selected cases that were not launched because their right answer is a fault, which the device would not survive.
    ``compiler`` says which of two compiled the kernel, "hiprtc" or "hipcc" (null: there was one only), and
    ``compiler_name`` what "hipcc" was: "ROCm's amdclang++, AMD clang version 19.0.0". ``port_name`` is what the port
    calls the kernel, where that is not Candle's name. Of a kernel that failed, ``observations`` has every failing case
    with its evidence, and ``passed`` every other one that was judged. ``known_reason`` says
    why the kernel fails where the port declares every one of its failures, ``fixed`` what is wrong upstream where the
    port declares that it is right there, which was judged then, ``geometry`` what of the launches is the
    port's own and not Candle's. ``profile`` is of a unary kernel of floats that is not bit-equal: 64 characters for the
    powers of two of its input, from the largest negative ones over 0 to the largest positive ones, each the worst
    element there: "." none, "0" to "k" twentieths of its bound, "x" wrong. ``leak`` says what every call of a launcher
    leaves behind: memory, streams or events that it allocates or creates each time and does not give back (null:
    nothing, or it cannot be told); it has no part in the status.
    """

    name: str
    module: str
    family: str
    status: Status
    cases: Count = 0
    failed: Count = 0
    max_ulp: Ulp = None
    source: str | None = None
    upstream: str
    failures: tuple[Failure, ...] = ()
    message: str | None = None
    seconds: float | None = None
    source_lines: Count | None = None
    compiles_for: dict[str, Resources] = {}
    wired_at: tuple[str, ...] | None = None
    left_out: Count = 0
    compiler: str | None = None
    compiler_name: str | None = None
    planned: Count = 0
    robustness: Robustness | None = None
    port_name: str | None = None
    known_reason: str | None = None
    fixed: str | None = None
    geometry: str | None = None
    observations: tuple[Observation, ...] = ()
    passed: tuple[str, ...] = ()
    max_ulp_bound: Ulp = None
    nearest_ulp: Ulp = None
    nearest_ulp_bound: Ulp = None
    profile: Annotated[str, Field(pattern="^[.0-9a-kx]{64}$")] | None = None
    leak: str | None = None

    @property
    def counts(self) -> str:
        """``3 of 53 cases failed, 12 not run``."""
        missed = self.planned - self.cases if self.planned else 0
        not_run = f", {missed} not run" if missed > 0 else ""
        return f"{self.failed} of {max(self.planned, self.cases)} cases failed{not_run}"

    @classmethod
    def not_run(cls, kernel: Kernel, **fields: Any) -> Self:
        """The row of a kernel that was not judged, with what ``fields`` say of it all the same."""
        about = {name: getattr(kernel, name) for name in ("name", "module", "family", "upstream")}
        return cls(status="not_run", **about, **fields)

    @property
    def lost(self) -> bool:
        """Whether the kernel was selected and not judged for something that is not its doing."""
        return self.status == "not_run" and (self.message or "").startswith(INFRASTRUCTURE)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.failed > self.cases:
            raise ValueError(f"kernel {self.name!r}: {self.failed} of {self.cases} cases failed")
        if self.status == "pass" and (not self.cases or self.failed or self.failures):
            raise ValueError(f"kernel {self.name!r}: a pass needs a case or more, none of which failed")
        if self.status in ("fail", "crash", "timeout") and not self.failed and not self.message:
            raise ValueError(f"kernel {self.name!r}: {self.status} without a case that failed and without a message")
        return self


class RunInfo(Row):
    """What was run, on what, and when.

    ``started`` is ISO 8601 in UTC, ``seconds`` wall time. ``wave`` is the wave (warp) size. ``kernels`` is the path
    that was given. ``orders`` are the thread orders of the cpu runtime. ``source_lines`` counts lines per source file.
    ``subject`` is "reference" where recorded answers were compared with the reference and no kernel was run; ``traces``
    is the folder that recorded cases came from, ``recorded_on`` what its files say of where. ``git`` is the commit of
    the port (null: it is in none), ``harness`` that of candle-parity (null: neither a checkout nor the installed
    version names it, or the record is older than the field); both end in "-dirty" where files differ. ``patterns`` is
    what was selected (empty: everything).
    ``sources`` is a digest of everything at ``kernels``. ``builds`` has the compilation for each
    AMD target; a record with the runtime "build" has nothing else. ``specs`` is the folder of specs that are not the
    harness's own, ``specs_digest`` a digest of the specs. ``sandbox`` says what the kernels were confined by, or why by
    nothing; ``weakened`` names settings that weaken checks. ``selected`` counts the kernels that were selected;
    ``complete`` is false where the run ended before each of them was judged. ``infrastructure`` says in sentences what
    went wrong that was not a kernel's doing. ``fallback`` says why ``auto`` took the host though there were signs of an
    AMD GPU. On ROCm ``library`` is the libamdhip64 that was used and how it was found, ``other_libraries`` those that
    were not, ``hip_version`` and ``driver`` are versions, ``visible`` the variables that hide devices, as they were
    set, ``left_out_devices`` those of another architecture, and ``emulator`` is set where no GPU ran the kernels but an
    emulator below ROCm. ``compiler`` is what was asked for: "auto"
    (hiprtc, and hipcc for files that it refuses), "hiprtc" or "hipcc". ``config`` is the candle-parity.toml that the
    port declares its choices in, ``declared`` a digest of these choices (null: no kernel was run, or the record is
    older than the field). ``target`` is the AMD GPU whose macros the sources saw where kernels ran on the host
    (``--arch``). ``shard`` is "2/4" where this is the second of four parts of a run: the kernels of the others are
    ``not_run``, "in shard 3/4". ``missing_shards`` are those that were not given when shards were joined. ``perturb``
    is the seed by which approximate instructions deviated. ``options`` is what the sources were compiled with, of the
    command line and of the port's file: ``-D NAME=1``.
    """

    runtime: str
    device: str
    wave: int | None = None
    kernels: str | None = None
    started: str
    seconds: Annotated[float, Field(ge=0)]
    hip_python: str | None = None
    upstream_commit: str
    arch: str | None = None
    host: str | None = None
    orders: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    git: str | None = None
    harness: str | None = None
    subject: Literal["kernels", "reference"] = "kernels"
    traces: str | None = None
    recorded_on: tuple[str, ...] = ()
    source_lines: dict[str, Count] = {}
    sources: str | None = None
    builds: dict[str, Build] = {}
    specs: str | None = None
    specs_digest: str | None = None
    sandbox: str | None = None
    weakened: tuple[str, ...] = ()
    selected: Count | None = None
    complete: bool = True
    infrastructure: tuple[str, ...] = ()
    fallback: str | None = None
    library: str | None = None
    other_libraries: tuple[str, ...] = ()
    hip_version: str | None = None
    driver: str | None = None
    emulator: str | None = None
    visible: tuple[str, ...] = ()
    left_out_devices: tuple[str, ...] = ()
    compiler: str | None = None
    config: str | None = None
    declared: str | None = None
    target: str | None = None
    shard: str | None = None
    missing_shards: tuple[str, ...] = ()
    perturb: Count | None = None
    options: tuple[str, ...] = ()


class Summary(Row):
    """Kernels by status, cases, and the coverage: 100 * pass / total, in percent. A known failure is not a pass."""

    total: Count
    passed: Count = Field(alias="pass")
    fail: Count
    signature: Count
    missing: Count
    compile_error: Count
    crash: Count
    timeout: Count
    known_failure: Count
    not_run: Count
    cases: Count
    cases_failed: Count
    coverage: Annotated[float, Field(ge=0, le=100)]

    def count(self, status: Status) -> int:
        """How many kernels have ``status``."""
        return int(getattr(self, "passed" if status == "pass" else status))


class Record(Row):
    """One run over every kernel of the specs.

    ``launchers`` are the linked host functions that were selected: counted apart, and in no figure of the summary.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    run: RunInfo
    summary: Summary
    kernels: tuple[KernelResult, ...]
    launchers: tuple[KernelResult, ...] = ()

    @classmethod
    def of(cls, run: RunInfo, kernels: Iterable[KernelResult], launchers: Iterable[KernelResult] = ()) -> Record:
        """The record of ``kernels``, with its summary; see ``every_kernel`` for a complete list."""
        rows = tuple(kernels)
        return cls(run=run, summary=summarise(rows), kernels=rows, launchers=tuple(launchers))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = Counter(kernel.name for kernel in (*self.kernels, *self.launchers))
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
    """Counts ``kernels`` by status. The coverage is rounded to 4 decimals and is 0 without kernels."""
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
