"""``candle-parity build``: compile the kernels for AMD targets; needs no GPU and runs nothing."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from time import monotonic

from tabulate import tabulate

from conformance.cli.compile import Job, compile_tree, first_error, missing_header
from conformance.cli.progress import progress
from conformance.cli.usage import CommandParser
from conformance.option import COMPILATION, OUTPUT, RUN, json_file, workers
from conformance.port.amd_cache import AmdCode
from conformance.port.check.findings import CheckFinding
from conformance.port.check.objects import ObjectFile, check_objects, object_under_candles_names, read_objects
from conformance.port.declared.names import Names
from conformance.port.sources import KernelSource, SourceError
from conformance.record import write_record
from conformance.record.assemble import build_record
from conformance.session.setup import config_from, print_tree, specs_from, tree_from
from conformance.settings import Settings
from conformance.spec.load import Specs
from conformance.text import counted, one_line, quoted, visible
from conformance.toolchains.amd import AmdToolchain, CompileFailure, find_toolchain
from conformance.toolchains.targets import AmdTarget, targets_of
from conformance.writing import refuse_links, write_inside

DEFAULT_TARGETS = "gfx90a,gfx942,gfx1030,gfx1100,gfx1201"

EXAMPLES = (
    ("candle-parity build --kernels path/to/port --arch gfx942,gfx1100 --out objects", "code objects for two GPUs"),
)
EXIT_CODES = "0 everything compiles; 1 something does not; 2 bad usage, bad input, or no compiler for AMD targets"


def options(parser: CommandParser) -> None:
    parser.description = (
        "Compiles the kernels of a port for AMD targets, without a GPU, and prints registers, spills and shared memory "
        "of each. That a kernel compiles says nothing about its results: run judges them."
    )
    parser.group(COMPILATION).add_argument(
        "--arch",
        default=DEFAULT_TARGETS,
        metavar="LIST",
        help=f"AMD targets, separated by commas (default: {DEFAULT_TARGETS})",
    )
    parser.group(RUN).add_argument(
        "-j", "--jobs", type=workers, metavar="N", help="how many compilers run at a time (default: 2)"
    )
    output = parser.group(OUTPUT)
    output.add_argument(
        "--out",
        type=Path,
        default=Path("build"),
        metavar="DIR",
        help="write code objects to DIR/ARCH/MODULE.hsaco (default: build)",
    )
    output.add_argument(
        "--json",
        type=json_file,
        metavar="F",
        help="write a record as JSON, which report joins to that of a run; - is standard output",
    )


def command(arguments: argparse.Namespace) -> int:
    """0 when everything compiles with the specs' arguments, 1 when not, 2 when the installed HIP is too old."""
    targets = targets_of(arguments.arch)
    settings = Settings.of(vars(arguments))
    config = config_from(settings)
    specs = specs_from(settings, config)
    tree = tree_from(settings, specs, config)
    path = tree.path
    sources = [source for source in tree.sources if not source.is_code_object]
    if not sources:
        raise SourceError(f"kernels path {path} holds code objects only; build needs .hip or .cu files")
    toolchain = find_toolchain(targets)
    print_tree(tree, "compiles")
    started, clock = datetime.now(UTC), monotonic()
    done: list[Job] = []
    with progress() as on_progress:

        def ended(job: Job) -> None:
            done.append(job)
            on_progress(f"{job.source.label} for {job.target.name}", len(done), len(sources) * len(targets))

        jobs = compile_tree(toolchain, sources, targets, tree.options, arguments.jobs or 2, ended)
    objects = _placed(jobs, sources, arguments.out, tree.declared.names)
    record = build_record(
        specs,
        tree,
        toolchain.name,
        started,
        monotonic() - clock,
        {target.name: [file for job, file in objects if job.target == target] for target in targets},
        {target.name: _failed(jobs, target, toolchain) for target in targets},
        {target.name: _broken(jobs, target, tree.declared.names) for target in targets},
        {target.name: _lacking(jobs, target, toolchain) for target in targets},
    )
    if arguments.json:
        write_record(record, arguments.json)
    known = specs.loaded_by_name
    files = [file for _, file in objects]
    findings = check_objects(files, known, (), False, tree.declared.launch, tree.declared.adapter)
    if len(objects) == len(jobs) and not any(job.result.broken for job in jobs if isinstance(job.result, AmdCode)):
        # Else what does not compile may have them.
        missing = tree.declared.names.ports.keys() - {name for _, file in objects for name in file.code.kernels}
        said = tree.declared.names.unmatched(missing)
        findings += [CheckFinding("unmatched_alias", "", text, tree.declared.file) for text in said]
    _print(specs, jobs, objects, targets, findings, toolchain, arguments.out, tree.declared.names)
    failed = [job for job in jobs if isinstance(job.result, CompileFailure) or job.result.broken]
    if any(missing_header(job, toolchain) is None for job in failed) or any(not found.is_warning for found in findings):
        return 1
    return 2 if failed else 0


def _placed(
    jobs: Sequence[Job], sources: Sequence[KernelSource], out: Path, names: Names
) -> list[tuple[Job, ObjectFile]]:
    """Writes each code object to ``OUT/TARGET/MODULE.hsaco`` and reads it; its kernels are under Candle's ``names``."""
    files_of = _names(sources)
    found = []
    for job in jobs:
        name = PurePosixPath(job.target.name) / files_of[job.source]
        output = out / name
        refuse_links(out, name)
        if isinstance(job.result, CompileFailure):
            # An object of older sources must not be taken for this one's.
            output.unlink(missing_ok=True)
            continue
        write_inside(out, name, job.result.code)
        files = read_objects(output, job.source.label)
        found += [(job, object_under_candles_names(file, names)) for file in files]
    return found


def _names(sources: Sequence[KernelSource]) -> Mapping[KernelSource, PurePosixPath]:
    """The path of each source's code object below its target: the source's own with another suffix, after which two of
    one name would keep theirs too."""
    inside = {source: PurePosixPath(source.path.relative_to(source.root).as_posix()) for source in sources}
    count = Counter(path.with_suffix("") for path in inside.values())
    return {
        source: path.with_suffix(".hsaco") if count[path.with_suffix("")] == 1 else path.with_name(f"{path.name}.hsaco")
        for source, path in inside.items()
    }


def _failed(jobs: Sequence[Job], target: AmdTarget, toolchain: AmdToolchain) -> dict[str, str]:
    return {
        job.source.label: first_error(job.result, job.source.root)
        for job in jobs
        if job.target == target and isinstance(job.result, CompileFailure) and missing_header(job, toolchain) is None
    }


def _lacking(jobs: Sequence[Job], target: AmdTarget, toolchain: AmdToolchain) -> dict[str, str]:
    """The sources that nobody has judged, each with the header that the installation lacks."""
    unjudged = [job for job in jobs if job.target == target and isinstance(job.result, CompileFailure)]
    absent = {job.source.label: missing_header(job, toolchain) for job in unjudged}
    return {label: said for label, said in absent.items() if said is not None}


def _broken(jobs: Sequence[Job], target: AmdTarget, names: Names) -> dict[str, str]:
    """The kernels, under Candle's ``names``, that do not compile in sources that do without them, and their errors."""
    return {
        shown: broken.why
        for job in jobs
        if job.target == target and isinstance(job.result, AmdCode)
        for name, broken in job.result.broken.items()
        for shown in names.shown(name)
    }


def _print(
    specs: Specs,
    jobs: Sequence[Job],
    objects: Sequence[tuple[Job, ObjectFile]],
    targets: Sequence[AmdTarget],
    findings: Sequence[CheckFinding],
    toolchain: AmdToolchain,
    out: Path,
    called: Names,
) -> None:
    cells: dict[tuple[str, AmdTarget], str] = {}
    for job in jobs:
        if isinstance(job.result, CompileFailure):
            lacking = missing_header(job, toolchain) is not None
            cells[job.source.label, job.target] = "lacks a header of HIP's" if lacking else "does not compile"
    for job, file in objects:
        rows = file.code.kernels.values()
        refused = len(job.result.broken) if isinstance(job.result, AmdCode) else 0
        # The outlier among registers and shared memory limits the waves in flight.
        lds = max((row.lds for row in rows), default=0)
        scratch = max((row.scratch for row in rows), default=0)
        told = [f"{len(rows)} kernels", f"{max((row.vgprs for row in rows), default=0)} vgpr"]
        told += [f"{lds} B LDS"] if lds else []
        told += [f"{scratch} B scratch a thread"] if scratch else []
        told += [f"{refused} do not compile"] if refused else []
        cells[job.source.label, job.target] = ", ".join(told)
    labels = dict.fromkeys(job.source.label for job in jobs)
    body = [[label, *(cells[label, target] for target in targets)] for label in labels]
    print(visible(tabulate(body, headers=["source", *(target.name for target in targets)])))
    print()
    for job in jobs:
        if isinstance(job.result, CompileFailure):
            absent = missing_header(job, toolchain)
            verb = "does not compile" if absent is None else "cannot be compiled here"
            print(f"candle-parity: {one_line(job.source.label)} {verb} for {job.target.name}:", file=sys.stderr)
            print(quoted(absent or first_error(job.result, job.source.root), "  "), file=sys.stderr)
            continue
        for name, broken in job.result.broken.items():
            shown = " and ".join(called.shown(name))
            line = f"{broken.place}: {shown} does not compile for {job.target.name}:"
            print(f"candle-parity: {one_line(line)}\n{quoted(broken.why, '  ')}", file=sys.stderr)
    for finding in findings:
        mark = "warning: " if finding.is_warning else ""
        where = f"{finding.place} [{finding.target}]: {finding.kernel}" if finding.target else str(finding.place)
        print(f"candle-parity: {one_line(f'{mark}{where} {finding.message}')}", file=sys.stderr)
    for target in targets:
        names = {name for job, file in objects if job.target == target for name in file.code.kernels}
        compiled = len(names & specs.kernels.keys())
        line = f"{target.name}: {compiled} of Candle's {len(specs.kernels)} kernels compile"
        if specs.own:
            line += f", {len(names & specs.own.keys())} of the port's {counted(len(specs.own), 'own kernel')}"
        print(f"{line}; nothing was executed")
    print(f"\n{counted(len(objects), 'code object')} in {out}, by {toolchain.name}")
