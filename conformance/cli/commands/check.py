"""``candle-parity check``: compare names and parameters with the specs; nothing runs.

Nothing is compiled without ``--arch``, and yet sources need a compiler: macros and ``#if`` decide which kernels one
defines, and the preprocessor (clang's, g++'s, or that of the extra ``zig``) expands them. Code objects need none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from conformance.adapter import AdapterRow
from conformance.cli.compile import compile_tree, first_error, missing_header
from conformance.cli.usage import OVER_KERNELS, CommandParser, take_patterns
from conformance.engine.modes import Tree
from conformance.files import shipped_name
from conformance.option import COMPILATION, GATE, OUTPUT, RUN, json_file, workers
from conformance.port.check.findings import OF_THE_WHOLE, CheckFinding
from conformance.port.check.objects import ObjectFile, check_objects, object_under_candles_names, read_objects
from conformance.port.check.report import OTHER_PARAMETERS, CheckReport, report_json, report_text
from conformance.port.check.source import SourceTree, check_launchers, check_sources, read_tree, under_candles_names
from conformance.port.check.zero_sign import lost_signs
from conformance.port.code_objects import parse
from conformance.port.declared.adapters import adapted_kernels, adapter_difference, adapter_of
from conformance.port.declared.names import Names
from conformance.port.definitions.preprocess import NoPreprocessor, check_preprocessor
from conformance.port.options import BuildOptions
from conformance.port.signature import written
from conformance.port.sources import KernelSource, SourceError, find_sources
from conformance.record import write_text
from conformance.session.pinned import pinned_cases
from conformance.session.setup import config_from, specs_from, tree_from
from conformance.settings import Settings
from conformance.spec.kernel import Kernel
from conformance.spec.load import Specs
from conformance.text import counted, one_line, visible
from conformance.toolchains.amd import CompileFailure, find_toolchain
from conformance.toolchains.targets import AmdError, AmdTarget, targets_of

_LINES = "-gline-tables-only"
"""Adds the source lines of instructions to a code object, and changes none of these."""

EXAMPLES = (
    ("candle-parity check --kernels path/to/port", "a port that is to have every kernel of Candle's"),
    ("candle-parity check --kernels path/to/port --partial", "a port that has some of them"),
    ("candle-parity check --kernels path/to/port --module unary --json check.json", "one module, for a program"),
    (
        "candle-parity check --kernels path/to/port --arch gfx942,gfx1100",
        "also compile for two GPUs, and check the code objects",
    ),
)
EXIT_CODES = (
    "0 no findings (warnings are allowed); 1 findings; 2 bad usage, a source that cannot be read, or nothing to check"
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Compares the names and parameters of a port's kernels with Candle's, and looks for mistakes that the sources "
        "show, such as a return before a barrier. A preprocessor reads the sources; nothing is compiled without "
        "--arch, and nothing runs."
    )
    take_patterns(parser, OVER_KERNELS)
    parser.group(RUN).add_argument(
        "-j", "--jobs", type=workers, metavar="N", help="how many preprocessors or compilers run at a time (default: 2)"
    )
    parser.group(COMPILATION).add_argument(
        "--arch",
        metavar="LIST",
        help="compile the sources for these AMD targets, separated by commas, and check the code objects too",
    )
    parser.group(GATE).add_argument(
        "--partial",
        action="store_true",
        help="allow missing kernels and kernels that are not Candle's: neither is a finding",
    )
    parser.group(OUTPUT).add_argument(
        "--json", type=json_file, metavar="F", help="write every definition and finding as JSON; - is standard output"
    )


def command(arguments: argparse.Namespace) -> int:
    """Check and print the findings; 1 where there are some, 2 where a source cannot be read or there is nothing to
    check."""
    settings = Settings.of(vars(arguments))
    config = config_from(settings)
    specs = specs_from(settings, config)
    pinned = pinned_cases(settings, config, specs).cases
    loaded = specs.loaded_by_name
    selected = [one for one in specs.select(arguments.patterns, arguments.module) if one.name in loaded]
    port = tree_from(settings, specs, config, listed=False)
    wanted = [kernel for kernel in selected if port.declared.excluded(kernel.name) is None]
    path, options = port.path, port.options
    targets = [] if arguments.arch is None else targets_of(arguments.arch)
    texts, objects, unread = _read(path)
    unexpanded = _without_preprocessor() if texts else None
    if unexpanded is not None:
        if not objects:
            raise unexpanded
        texts = []
    names = port.declared.names
    tree = under_candles_names(read_tree(texts, options, arguments.jobs or 2), names)
    objects = [object_under_candles_names(file, names) for file in objects]
    defined, about = check_launchers(texts, options, specs.linked_by_name, names)
    nothing = not objects and not unread and not any(tree.definitions.values()) and not tree.errors
    if nothing and not defined:
        raise SourceError(f"kernels path {path} defines no kernel; expected __global__ functions in .hip or .cu files")
    findings = [CheckFinding("unreadable", "", str(error), label) for label, error in unread]
    findings += [*_unmatched(port, tree, objects, defined), *_excluded(port, tree, objects)]
    if texts:
        findings += check_sources(tree, specs.loaded_by_name, wanted)
    findings += [] if arguments.patterns else [*about, *_lacking(port, defined, specs)]
    launches, adapters = port.declared.launch, port.declared.adapter
    findings += check_objects(objects, specs.loaded_by_name, wanted, geometry=launches, adapters=adapters)
    if targets:
        made, failed = _compile(list(tree.definitions), targets, options, arguments.jobs or 2, names)
        compiled = [object_under_candles_names(file, names) for file in made]
        # Their names were checked in the sources.
        findings += [*failed, *check_objects(compiled, specs.loaded_by_name, wanted, False, launches, adapters)]
        objects = [*objects, *compiled]
    adapted = adapted_kernels(adapters, specs.loaded_by_name)
    findings = [one for one in findings if one.kind not in OTHER_PARAMETERS or one.kernel not in adapted]
    findings += _adapters(tree, adapters, specs.loaded_by_name)
    if arguments.partial:
        findings = [finding for finding in findings if finding.kind not in OF_THE_WHOLE]
    shown = shipped_name(path) or str(path)
    of_port = (specs.own, specs.own_launchers)
    report = CheckReport(shown, tree, objects, findings, specs.kernels, names, *of_port, adapted)
    if arguments.json:
        write_text(arguments.json, json.dumps(report_json(report), indent=1) + "\n")
    print(visible(report_text(report)))
    if defined & specs.launchers.keys():
        print(f"{len(defined & specs.launchers.keys())} of {len(specs.launchers)} linked launchers are defined")
    if specs.own_launchers:
        here, own = len(defined & specs.own_launchers.keys()), counted(len(specs.own_launchers), "own launcher")
        print(f"{here} of the port's {own} {'is' if len(specs.own_launchers) == 1 else 'are'} defined")
    if pinned:
        cases = counted(sum(map(len, pinned.values())), "pinned case")
        print(f"{cases} of {counted(len(pinned), 'kernel')}, for `run` to judge")
    for reason, count in _left_out(port, [*selected, *specs.linked_by_name.values()]).items():
        print(one_line(f"the port declares that it does not have {count} of the kernels and launchers: {reason}"))
    broken = [": ".join(source.located(error)) for source, error in tree.errors.items()]
    broken += [str(error) for _, error in unread]
    if unexpanded is not None:
        broken.append(f"only the code objects were checked; {unexpanded}")
    for sentence in broken:
        print(f"candle-parity: {one_line(sentence)}", file=sys.stderr)
    return 2 if broken else 1 if report.errors else 0


def _without_preprocessor() -> NoPreprocessor | None:
    """Why no source can be read on this machine; ``None`` where a compiler is there whose preprocessor does it."""
    try:
        check_preprocessor()
    except NoPreprocessor as error:
        return error
    return None


def _excluded(port: Tree, tree: SourceTree, objects: Sequence[ObjectFile]) -> list[CheckFinding]:
    """A finding for each kernel that the port has and says that it does not."""
    places = {one.name: tree.place(source, one) for source, found in tree.definitions.items() for one in found}
    places |= {name: file.label for file in objects for name in file.code.kernels if name not in places}
    return [
        CheckFinding("excluded", name, "is excluded there; remove the row, or narrow it", place)
        for name, place in places.items()
        if port.declared.excluded(name) is not None
    ]


def _adapters(tree: SourceTree, rows: Sequence[AdapterRow], kernels: Mapping[str, Kernel]) -> list[CheckFinding]:
    """A finding for each kernel whose number of parameters is not that of its adapter; their types and sizes are known
    where it is compiled."""
    found = ((source, one, adapter_of(rows, one.name)) for source, every in tree.definitions.items() for one in every)
    return [
        CheckFinding("adapter", one.name, message, tree.place(source, one))
        for source, one, row in found
        if row is not None and one.name in kernels and len(one.params) != len(row.params)
        if (message := adapter_difference(row, kernels[one.name], written(one.params))) is not None
    ]


def _lacking(port: Tree, defined: Collection[str], specs: Specs) -> list[CheckFinding]:
    """A finding for each of the port's own launchers that none of its sources defines. Candle's are not missed: many
    ports have none."""
    names = (name for name in specs.own_launchers if name not in defined and port.declared.excluded(name) is None)
    return [CheckFinding("missing", name, "no source defines it") for name in names]


def _left_out(port: Tree, kernels: Sequence[Kernel]) -> Counter[str]:
    """How many of ``kernels`` the port excludes, by the reason."""
    rows = (port.declared.excluded(kernel.name) for kernel in kernels)
    return Counter(row.reason for row in rows if row is not None)


def _unmatched(
    port: Tree, tree: SourceTree, objects: Sequence[ObjectFile], launchers: Collection[str]
) -> list[CheckFinding]:
    """A finding for each alias that names no kernel of the port; none where a source could not be read."""
    if tree.errors:
        return []
    defined = {one.name for found in tree.definitions.values() for one in found}
    defined |= {name for file in objects for name in file.code.kernels} | set(launchers)
    missing = port.declared.names.ports.keys() - defined
    return [
        CheckFinding("unmatched_alias", "", text, port.declared.file) for text in port.declared.names.unmatched(missing)
    ]


def _read(path: Path) -> tuple[list[KernelSource], list[ObjectFile], list[tuple[str, AmdError]]]:
    """The text sources and the code objects at ``path``, and the errors of those that are none.

    A single binary is read as what its first bytes say; raises ``AmdError`` when it is not a code object.
    """
    if path.is_file() and _is_binary(path):
        return [], read_objects(path, path.name), []
    sources = find_sources(path)
    texts = [source for source in sources if not source.is_code_object]
    objects: list[ObjectFile] = []
    unread: list[tuple[str, AmdError]] = []
    for source in sources:
        if source.is_code_object:
            try:
                objects += read_objects(source.path, source.label)
            except AmdError as error:
                unread.append((source.label, error))
    return texts, objects, unread


def _compile(
    sources: Sequence[KernelSource], targets: Sequence[AmdTarget], options: BuildOptions, jobs: int, names: Names
) -> tuple[list[ObjectFile], list[CheckFinding]]:
    """The code objects of ``sources`` for each target, and a finding, under Candle's ``names``, for each source and
    kernel that does not compile."""
    toolchain = find_toolchain(targets)
    objects: list[ObjectFile] = []
    failed: list[CheckFinding] = []
    for job in compile_tree(toolchain, sources, targets, options, jobs):
        if isinstance(job.result, CompileFailure):
            reason = missing_header(job, toolchain) or first_error(job.result, job.source.root)
            failed.append(CheckFinding("compile_error", "", reason, job.source.label, None, job.target.name))
            continue
        code = parse(job.result.code, job.source.label)
        if lost_signs(code):
            (lined,) = compile_tree(toolchain, [job.source], [job.target], options, 1, more=(_LINES,))
            if not isinstance(lined.result, CompileFailure):
                code = parse(lined.result.code, job.source.label)
        objects.append(ObjectFile(job.source.label, code))
        failed += [
            CheckFinding("compile_error", shown, broken.why, broken.place, None, job.target.name)
            for name, broken in job.result.broken.items()
            for shown in names.shown(name)
        ]
    return objects, failed


def _is_binary(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(24).startswith((b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"))
