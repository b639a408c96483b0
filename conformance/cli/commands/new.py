"""``candle-parity new``: add kernels that are shaped like another one."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conformance.capture.launches import CaptureError
from conformance.capture.pin import pin, place_of
from conformance.capture.shrink import NotShrinkable, Smaller, smaller
from conformance.capture.try_smaller import PortOnTrial, smallest_wrong, write_launch, wrong_element
from conformance.cli.usage import CommandParser, kernel_names
from conformance.engine.recordings import recorded
from conformance.errors import UsageError, UserError
from conformance.files import installed
from conformance.port.config import OPTIONS_FILE, Config, config_file_in, config_in, read_config
from conformance.port.declared.declared import declared_in
from conformance.replay.traces import PROGRAM, Trace, Traces
from conformance.session.pinned import PINNED, place_of_pinned
from conformance.session.selection import specs_to_edit
from conformance.session.setup import tree_from
from conformance.settings import NO_SETTINGS
from conformance.spec import SelectionError, SpecError
from conformance.spec.kernel import Kernel, Tolerance
from conformance.spec.load import Specs, load_specs
from conformance.spec.schema import FILES, schema_text
from conformance.text import one_line
from conformance.upstream.like import Addition, Origin, additions_like, check_new, origin_of
from conformance.upstream.new_kernels import STAND_IN, UNSET, Bound, expanded, given_bound, lines_of
from conformance.upstream.own_start import own_start
from conformance.upstream.steps import what_else
from conformance.verdict.trials import TrialCase
from conformance.writing import FileError, write_text

_GIVE = "give --ulp N --source TEXT (and --library-ulp N where a library function is inside)"


_EPILOG = """\
A dtype in braces is spelled as in the kernels of --like. Without --ulp and --source the tolerance is asked for; where
there is no terminal it is TODO, which the specs do not load with, and --write refuses."""

EXAMPLES = (
    ("candle-parity new 'usquare_{f32,f16}' --like usqr_f32", "the edits that add two kernels"),
    (
        'candle-parity new cast_i64_f16 --like cast_i64_f32 --line 1234 --ulp 0 --source "one rounding" --write',
        "make the edit, with a tolerance of its own",
    ),
    ("candle-parity new 'fadd_{f32,f64}' --own", "start two kernels of the port's own"),
    ("candle-parity new --case-from launches#17", "keep a launch that capture recorded as a case"),
)


def options(parser: CommandParser) -> None:
    parser.description = (
        "Prints, and with --write makes, the edit of the specs that adds kernels, and says what else is to be done."
    )
    parser.epilog = _EPILOG
    parser.add_argument("names", nargs="*", metavar="NAME", help="a kernel's name, or several: 'usquare_{f32,f16}'")
    like = parser.add_argument(
        "--like", metavar="KERNEL", help="an existing kernel with the same parameters and launch"
    )
    parser.add_argument(
        "--own", action="store_true", help="start a kernel of the port's own, with its reference, in this folder"
    )
    setattr(like, "completer", kernel_names)  # noqa: B010
    parser.add_argument(
        "--line", metavar="N", help="the line in Candle's source: one for all, or f32:12,f16:40; --write needs it"
    )
    parser.add_argument(
        "--ulp", metavar="N", help="the tolerance: how many steps results may be off, such as 1, or f32:0,f16:1"
    )
    parser.add_argument(
        "--library-ulp", metavar="N", help="the error of a library function inside the formula, in steps (default: 0)"
    )
    parser.add_argument("--source", metavar="TEXT", help="where the tolerance comes from")
    parser.add_argument("--same-tolerance", action="store_true", help="use the tolerance of --like and its source")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the port's candle-parity.toml, whose own names --like then knows"
    )
    parser.add_argument("--write", action="store_true", help="write the edits; without it they are only printed")
    parser.add_argument(
        "--case-from", metavar="DIR#N", help="keep launch N of a recording of capture as a case, which run judges"
    )
    into = f"the folder of such cases (default: the one that run takes: {PINNED}, next to candle-parity.toml)"
    parser.add_argument(
        "--as-recorded", action="store_true", help="--case-from: keep the whole launch, and try no smaller ones"
    )
    parser.add_argument("--into", type=Path, metavar="DIR", help=into)
    parser.add_argument(
        "--specs",
        type=Path,
        metavar="DIR",
        help="a folder of specs to use in the place of those that come with candle-parity",
    )


def command(arguments: argparse.Namespace) -> int:
    if arguments.case_from is not None:
        return _pin(arguments)
    if not arguments.names:
        raise UsageError("name a kernel: candle-parity new NAME --like KERNEL; or give --case-from DIR#N")
    if arguments.own:
        return _start_own(arguments)
    if arguments.like is None:
        raise UsageError("name the kernel that they are shaped like with --like KERNEL, or give --own")
    folder = specs_to_edit(arguments)
    specs = load_specs(folder)
    # The port's own names stand for Candle's.
    config = None if arguments.config is None else read_config(arguments.config)
    called = declared_in(config, specs.kernels, specs.launchers).names
    arguments.names = [called.candle(name) or name for name in arguments.names]
    chosen = specs.select([called.candle(arguments.like) or arguments.like], launchers=True)
    if len(chosen) > 1:
        names = ", ".join(kernel.name for kernel in chosen[:4])
        raise UsageError(f"--like {arguments.like} matches {len(chosen)} kernels ({names}); name one")
    like = chosen[0]
    origin = origin_of(folder, like)
    if arguments.write and arguments.line is None:
        raise UsageError("--write needs --line N, where Candle defines the kernels, or --line f32:12,f16:40")
    lines = lines_of(expanded(arguments.names, origin.stanza.spelling), arguments.line or "1")
    check_new(specs, folder, list(lines))
    addition, tolerance, unset = _with_tolerance(arguments, specs, origin, lines)
    shipped = installed() and arguments.specs is None
    place = f"{f'specs/{addition.path.name}' if shipped else os.path.relpath(addition.path)}:{addition.line}"
    if arguments.write:
        write_text(addition.path, addition.text)
        print(f"# wrote {place} ({addition.kind})")
    else:
        where = "into a copy that --specs names" if shipped else "there"
        print(f"# for {place} ({addition.kind}); --write puts it {where}")
    print(addition.shown)
    print(f"\n# tolerance: {tolerance}")
    if arguments.line is None:
        print("# upstream line: not given; 1 stands in")
    print("\n# what else is needed")
    for step in what_else(addition, list(lines), like, unset):
        print(f"#   {step}")
    return 0


def _pin(arguments: argparse.Namespace) -> int:
    """Keep a recorded launch as a case, and say how it is judged."""
    if arguments.names or arguments.own or arguments.like is not None:
        raise UsageError("--case-from keeps a launch as a case and adds no kernel; leave names, --like and --own out")
    folder, number = place_of(arguments.case_from)
    kernel, trial = _judged_launch(folder, number)
    file = arguments.config or config_file_in(Path())
    config = None if file is None else read_config(file)
    found = place_of_pinned(NO_SETTINGS, config)
    into: Path = found if arguments.into is None else arguments.into
    part, how = (None, "kept as recorded") if arguments.as_recorded else _smaller(kernel, trial, folder, config)
    try:
        case = pin(folder, number, into) if part is None else _pin_part(kernel, part, folder, number, into)
    except OSError as error:
        raise FileError(f"{into} cannot be written ({error.strerror}); name another folder with --into") from None
    print(f"wrote {case} into {into}; keep the folder with the port\n{how}\n")
    print("# judge the port by it, as each run now does")
    place, quoted = shlex.quote(str(into)), shlex.quote(case)
    is_found = config is not None and into.resolve() == found.resolve()
    named = [] if arguments.config is None else ["--config", shlex.quote(str(arguments.config))]
    named += [] if is_found else ["--pinned", place]
    named += [] if config is not None and config.settings.kernels is not None else ["--kernels", "path/to/port"]
    print(" ".join(["candle-parity", "run", *named, quoted]))
    print(f"# what the program's kernel answered\ncandle-parity replay {place} --subject reference {quoted}")
    if not is_found:
        print(f"# or, for runs without --pinned, in {OPTIONS_FILE}:\npinned = {json.dumps(str(into))}")
    return 0


def _judged_launch(folder: Path, number: str) -> tuple[Kernel, TrialCase]:
    """Launch ``number`` of ``folder``, and what the reference expects of it.

    Raises ``CaptureError`` where the recording does not have it, and ``UsageError`` for one that the reference has no
    answer to: as a case it would be left out of every run, or fail in every one.
    """
    traces, specs = Traces(folder), load_specs()
    kernels = specs.kernels | specs.launchers
    for name in filter(kernels.__contains__, (*traces.kernels, *traces.launchers)):
        cases = [case for case in traces.cases(name) if case.id == f"{name}(trace={number})"]
        if not cases:
            continue
        trial = next(recorded(kernels[name], cases, folder.resolve(), "reference"), None)
        why = "the reference does not take its arguments" if trial is None else trial.flaw
        if trial is None or why is not None:
            raise UsageError(f"launch {number} of {folder} can be no case: {why}")
        return kernels[name], trial
    raise CaptureError(f"{folder} has no recorded launch {number}; the table of `capture` says which are recorded")


def _smaller(kernel: Kernel, trial: TrialCase, folder: Path, config: Config | None) -> tuple[Smaller | None, str]:
    """The smallest part of a recorded launch in which the port is wrong too (``None``: the whole launch is kept), and
    what to say of it."""
    if not any(PROGRAM in one for one in Traces(folder).recordings):
        return None, "kept as recorded: no program has launched it"
    wrong = wrong_element(kernel, trial)
    if wrong is None:
        return None, "kept as recorded: what the program answered is right"
    trace = Trace(trial.case, trial.launch, trial.answer or {}, of_program=True)
    try:
        smaller(kernel, trace, *wrong)  # which needs no port
        if config is None or config.settings.kernels is None:
            return None, f"kept as recorded: smaller ones are tried with a port whose kernels a {OPTIONS_FILE} names"
        specs = load_specs()
        port = PortOnTrial(tree_from(NO_SETTINGS, specs, config), NO_SETTINGS, config)
        part, how = smallest_wrong(kernel, trace, wrong, port)
    except (NotShrinkable, UserError) as error:  # a port that cannot be judged here is no reason to keep nothing
        return None, f"kept as recorded: {one_line(str(error))}"
    return part, f"shrunk to {how}; --as-recorded keeps the whole launch"


def _pin_part(kernel: Kernel, part: Smaller, folder: Path, number: str, into: Path) -> str:
    """Pin a part of launch ``number`` of ``folder`` as the launch itself would be; its case id."""
    recording = next(one for one in Traces(folder).recordings if PROGRAM in one)
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as place:
        alone = Path(place) / folder.resolve().name
        alone.mkdir()
        write_launch(alone, kernel, [(number, part.launch, part.answer)], recording)
        return pin(alone, number, into)


def _start_own(arguments: argparse.Namespace) -> int:
    """Write the files of an own kernel into the working directory, and say how it is judged."""
    if arguments.like is not None:
        raise UsageError("--own starts a kernel that Candle has not; leave --like out")
    schemas = {name: schema_text(model) for name, model in FILES.items()}
    start = own_start(Path(), arguments.names, schemas, config_in([Path()]))
    for path, text in start.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        print(f"wrote {path}")
    for path in start.kept:
        print(f"kept {path}")
    if start.toml is not None:
        print(f"\n# for {start.declared}\n{start.toml}", end="")
    print(f"\ncandle-parity run --own '{start.name}'")
    return 0


def _with_tolerance(
    arguments: argparse.Namespace, specs: Specs, origin: Origin, lines: Mapping[str, int]
) -> tuple[Addition, str, bool]:
    """The addition with its tolerance, what is to be said of that, and whether it is still to be set."""
    given = _given(arguments)
    same = arguments.same_tolerance
    addition, tolerances = _first_that_loads(specs, origin, lines, None if same else given or STAND_IN)
    own = "; ".join(map(_words, tolerances))
    if addition.joins:
        rule = f"a rule of the stanza covers the new kernels as it is ({own})"
        if given is not None:
            raise UsageError(f"{origin.path.name}: {rule}; leave --ulp and --source out, or write a stanza by hand")
        return addition, f"{rule}; nothing was copied", False
    if same:
        return addition, f"that of {origin.like.name}, as --same-tolerance says ({own})", False
    given = given or _asked(", ".join(lines), origin.like)
    if given is not None:
        addition, _ = _first_that_loads(specs, origin, lines, given)
        return addition, _words(given), False
    if arguments.write:
        raise UsageError(
            f"--write needs the tolerance of {', '.join(lines)}, for no rule of {origin.path.name} covers it; {_GIVE}, "
            f"or --same-tolerance where that of {origin.like.name} holds ({_words(origin.like.tolerance)})"
        )
    (addition,) = (one for one in additions_like(origin, lines, UNSET) if one.kind == addition.kind)
    return addition, "not given; the specs do not load while it is TODO", True


def _words(bound: Bound | Tolerance) -> str:
    return f"ulp {bound.ulp}, library_ulp {bound.library_ulp}, source: {bound.source}"


def _first_that_loads(
    specs: Specs, origin: Origin, lines: Mapping[str, int], given: Bound | None
) -> tuple[Addition, list[Tolerance]]:
    """The smallest addition with which the specs load and have the kernels, and their tolerances, each once; raises
    ``SpecError`` when none does."""
    problem: SpecError | None = None
    for addition in additions_like(origin, lines, given):
        try:
            kernels = _entries(_loaded_with(origin.path.parent, {addition.path.name: addition.text}))
        except SpecError as error:
            problem = SpecError(addition.path, error.line, error.problem, error.remedy)
            continue
        if kernels.keys() - _entries(specs).keys() == lines.keys():
            return addition, list(dict.fromkeys(kernels[name].tolerance for name in lines))
    raise problem or SpecError(origin.path, None, f"cannot hold {', '.join(lines)}", "edit the spec by hand")


def _entries(specs: Specs) -> dict[str, Kernel]:
    """Kernels and launchers: a new one is of the kind of that which it is like."""
    return {**specs.kernels, **specs.launchers}


def _loaded_with(folder: Path, changed: Mapping[str, str]) -> Specs:
    """The specs of ``folder`` with the text of some files changed; raises ``SpecError``."""
    with tempfile.TemporaryDirectory(prefix="candle-parity-") as trial:
        texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.yaml")}
        for name, text in {**texts, **changed}.items():
            (Path(trial) / name).write_text(text, encoding="utf-8")
        return load_specs(Path(trial))


def _given(arguments: argparse.Namespace) -> Bound | None:
    """The tolerance of the command line; raises ``UsageError`` for half of one."""
    values = (arguments.ulp, arguments.library_ulp, arguments.source)
    if arguments.same_tolerance:
        if any(value is not None for value in values):
            raise UsageError("--same-tolerance goes without --ulp, --library-ulp and --source; give one or the other")
        return None
    if all(value is None for value in values):
        return None
    if arguments.ulp is None or arguments.source is None:
        raise UsageError(f"half a tolerance; {_GIVE}")
    return given_bound(arguments.ulp, arguments.library_ulp or "0", arguments.source)


def _asked(names: str, like: Kernel) -> Bound | None:
    """The tolerance that a user types at a terminal; ``None`` where there is none, or nothing is typed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    print(
        f"Tolerance of {names} (0 to 16 steps of the result's type, or f32:2,f16:1).\n"
        f"That of {like.name}: {_words(like.tolerance)}.",
        file=sys.stderr,
    )
    while True:
        answers = []
        for question in ("ulp of the result", "library ulp (0 without a library function)", "source of the bound"):
            print(f"{question}: ", end="", file=sys.stderr, flush=True)
            answer = sys.stdin.readline().strip()
            if not answer:
                return None
            answers.append(answer)
        try:
            return given_bound(*answers)
        except SelectionError as error:
            print(error, file=sys.stderr)
