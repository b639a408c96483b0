"""Mutants of the reference and of what the specs say, judged by the recorded answers of Candle's own kernels alone."""

from __future__ import annotations

import ast
import os
import random
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.files import REFERENCE
from conformance.processes import InfrastructureError
from conformance.replay.traces import TraceError
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from conformance.verdict.judge import Judging, recorded_answer
from conformance.verdict.loop import Answers, run_cases
from conformance.verdict.trials import recorded
from reference import NoReference

TRACES = REFERENCE / "traces"
SECONDS = 120
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
_BITS = {ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift}
OPERATORS: dict[type, Any] = {**_COMPARED, **_COMPUTED, **_BITS, ast.And: ast.Or, ast.Or: ast.And}


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """What can be changed, in a fixed order: the node, and the operator."""
    for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
        for node in (one for part in function.body for one in ast.walk(part)):
            if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
                yield node, "comparison"
            elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
                yield node, "arithmetic" if isinstance(node, ast.BinOp) else "logic"
            elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
                yield node, "constant"
            elif isinstance(node, ast.IfExp):
                yield node, "choice"
            elif isinstance(node, ast.If):
                yield node, "guard"


def changed(text: str, number: int) -> str:
    """The source ``text`` with the change of that number."""
    tree = ast.parse(text)
    node, _ = list(places(tree))[number]
    if isinstance(node, ast.Compare):
        node.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.001 + 1e-300
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Instead(MetaPathFinder, Loader):
    """Finds a module whose source is another."""

    def __init__(self, name: str, file: Path, text: str) -> None:
        self._name, self._file, self._text = name, file, text

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, origin=str(self._file)) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._text, str(self._file), "exec"), module.__dict__)


def rejected(kernels: Sequence[Kernel]) -> str | None:
    """What recorded answers say against the reference of the first of ``kernels`` that fails."""
    for kernel in kernels:
        try:
            cases = recorded(kernel, None, TRACES, "reference")
            answers = Answers(recorded_answer, ("recorded",))
            found = run_cases(kernel, cases, answers, Judging(kernel), "", lambda _: None)
        except (NoReference, InfrastructureError, TraceError, ValueError) as error:
            return f"{kernel.name}: {type(error).__name__}: {error}"
        if found.status not in ("pass", "known_failure"):
            return f"{kernel.name}: {found.failures[0].case if found.failures else found.message}"
    return None


def _users(name: str) -> set[str]:
    """The modules of specs whose reference imports reference/NAME.py, directly or not."""
    imports = {}
    for path in REFERENCE.rglob("*.py"):
        module = ".".join(("reference", *path.relative_to(REFERENCE).with_suffix("").parts)).removesuffix(".__init__")
        names = {one.module for one in ast.walk(ast.parse(path.read_text())) if isinstance(one, ast.ImportFrom)}
        imports[module] = names | {f"{one}" for one in names}
    users, before = {name}, set()
    while users != before:
        before = set(users)
        users |= {module for module, names in imports.items() if names & users}
    return {one.removeprefix("reference.") for one in users}


def in_child(name: str, file: Path, text: str, kernels: Sequence[Kernel]) -> str | None:
    """``rejected`` in a process of its own, with ``text`` in place of the module ``name``."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        sys.meta_path.insert(0, _Instead(name, file, text))
        try:
            answer = rejected(kernels) or ""
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(into, answer.encode()[:4000])
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    return answer or (f"status {status}" if status else None)


def try_reference(count: int, seed: int) -> dict[str, str | None]:
    """``count`` mutants of the reference: how each is rejected, ``None`` where it is not."""
    specs = load_specs()
    every = [*specs.kernels.values(), *specs.launchers.values()]
    chance = random.Random(seed)
    chance.shuffle(every)
    pool = []
    for path in sorted(REFERENCE.glob("*.py")):
        if path.stem not in ("__init__", "expected", "libraries", "random_numbers"):
            pool += [(path, number, *row) for number, row in enumerate(places(ast.parse(path.read_text())))]
    chance.shuffle(pool)
    found: dict[str, str | None] = {}
    for path, number, node, operator in pool[:count]:
        name = f"reference.{path.stem}"
        users = _users(name)
        kernels = [kernel for kernel in every if kernel.module in users]
        text, code = changed(path.read_text(), number), ast.unparse(node).splitlines()[0]
        found[f"{path.name}:{node.lineno}: {operator}: {code}"] = in_child(name, path, text, kernels)
    return found


def try_specs(count: int, seed: int) -> dict[str, str | None]:
    """``count`` mutants of what specs say of kernels: two parameters swapped, another dtype, another operation."""
    specs = load_specs()
    every = list(specs.kernels.values())
    chance = random.Random(seed)
    found: dict[str, str | None] = {}
    for kernel in chance.sample(every, count):
        params, kind = list(kernel.params), chance.choice(("swapped", "dtype", "variant"))
        others = [one for one in every if one.family == kernel.family and one.variant != kernel.variant]
        if kind == "variant" and others:
            other = chance.choice(others)
            mutant, what = replace(kernel, variant=other.variant), f"variant of {other.name}"
        elif kind == "dtype":
            at = chance.randrange(len(params))
            dtype = "f64" if params[at].dtype != "f64" else "u8"
            params[at] = replace(params[at], dtype=dtype)
            mutant, what = replace(kernel, params=tuple(params)), f"{params[at].name} is {dtype}"
        else:
            at = chance.randrange(len(params) - 1)
            params[at], params[at + 1] = params[at + 1], params[at]
            mutant, what = replace(kernel, params=tuple(params)), f"{params[at].name} and {params[at + 1].name} swapped"
        found[f"{kernel.name}: {what}"] = rejected([mutant])
    return found
