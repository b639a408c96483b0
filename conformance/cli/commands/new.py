"""``candle-parity new``: kernels shaped like another one, and with ``--module`` the files of a new module."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conformance.cli.selection import specs_to_edit
from conformance.cli.usage import UsageError
from conformance.files import ROOT, installed, spec_folder
from conformance.port.config import read_config
from conformance.port.declared.declared import declared_in
from conformance.record.files import write_text
from conformance.spec.errors import SelectionError, SpecError
from conformance.spec.kernel import Kernel, Tolerance
from conformance.spec.load import Specs, load_specs
from conformance.upstream.bound import STAND_IN, UNSET, Bound, given_bound
from conformance.upstream.like import Addition, Origin, additions_like, check_new, origin_of
from conformance.upstream.names import expanded, lines_of
from conformance.upstream.skeleton import Module, skeleton
from conformance.upstream.steps import what_else

_GIVE = "give --ulp N --source TEXT (and --library-ulp N where a library function is inside)"


def command(arguments: argparse.Namespace) -> int:
    if (arguments.like is None) == (arguments.module is None):
        raise UsageError(
            "new takes one of --like KERNEL, for kernels of a module that is there, and --module NAME, for a new module"
        )
    return _kernels(arguments) if arguments.module is None else _module(arguments)


def _kernels(arguments: argparse.Namespace) -> int:
    _refuse(arguments, ("source_file", "title", "params"), "--module")
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
    lines = lines_of(expanded(arguments.names, origin.stanza.spelling), arguments.line)
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
    print("\n# what else is needed")
    for step in what_else(addition, list(lines), like, unset):
        print(f"#   {step}")
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
    words = (arguments.ulp, arguments.library_ulp, arguments.source)
    if arguments.same_tolerance:
        if any(word is not None for word in words):
            raise UsageError("--same-tolerance goes without --ulp, --library-ulp and --source; give one or the other")
        return None
    if all(word is None for word in words):
        return None
    if arguments.ulp is None or arguments.source is None:
        raise UsageError(f"half a tolerance; {_GIVE}")
    return given_bound(arguments.ulp, arguments.library_ulp or "0", arguments.source)


def _asked(names: str, like: Kernel | None) -> Bound | None:
    """The tolerance that a user types at a terminal; ``None`` where there is none, or nothing is typed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    shown = "" if like is None else f"\nThat of {like.name}: {_words(like.tolerance)}."
    print(f"Tolerance of {names} (0 to 16 steps of the result's type, or f32:2,f16:1).{shown}", file=sys.stderr)
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


def _module(arguments: argparse.Namespace) -> int:
    if arguments.source_file is None:
        raise UsageError(f"--module {arguments.module} needs --cuda FILE.cu, its source in candle-kernels/src")
    if arguments.same_tolerance:
        raise UsageError(f"--same-tolerance goes with --like; {_GIVE}")
    if arguments.config is not None:
        raise UsageError("--config, the names of a port, goes with --like; leave it out with --module")
    if arguments.specs is not None:
        raise UsageError("--specs does not go with --module, whose files are next to the harness; leave it out")
    if arguments.write and installed():
        raise UsageError("--write does not change an installation; call it in a checkout of candle-parity")
    names = expanded(arguments.names, {})
    module = Module(arguments.module, arguments.source_file, arguments.title, lines_of(names, arguments.line))
    given = _given(arguments)
    spec = f"{module.name}.yaml"
    files = skeleton(ROOT, module, arguments.params, given or STAND_IN)
    check_new(load_specs(), spec_folder(), names)
    try:
        _loaded_with(spec_folder(), {spec: files[Path("specs") / spec]})
    except SpecError as error:
        raise SpecError(f"specs/{spec}", error.line, error.problem, error.remedy) from None
    given = given or _asked(", ".join(names), None)
    if given is None and arguments.write:
        raise UsageError(f"--write needs the tolerance of module {module.name}'s kernels; {_GIVE}")
    files = skeleton(ROOT, module, arguments.params, given or UNSET)
    for path, text in files.items():
        if arguments.write:
            write_text(ROOT / path, text)
            print(f"# wrote {path}")
        elif (ROOT / path).exists():
            before = (ROOT / path).read_text(encoding="utf-8").splitlines()
            added = [line[2:] for line in difflib.ndiff(before, text.splitlines()) if line.startswith("+ ")]
            print("\n".join([f"# {path}, in the lists that are there", *added]))
        else:
            print(f"# {path}\n{text}")
    if not arguments.write:
        print("\n# --write writes these files into the checkout")
    print("\n# what else is needed")
    for step in module.steps(given is None):
        print(f"#   {step}")
    return 0


def _refuse(arguments: argparse.Namespace, options: tuple[str, ...], partner: str) -> None:
    for option in options:
        if getattr(arguments, option) is not None:
            shown = {"source_file": "--cuda"}.get(option, f"--{option}")
            raise UsageError(f"{shown} goes with {partner}; leave it out with --like")
