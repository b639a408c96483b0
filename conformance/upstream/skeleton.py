"""The files of a new module: each loads, and then fails with a sentence that says what is to be filled in."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cases import FAMILIES
from conformance.dtypes import DTYPES, SPELLINGS
from conformance.spec import SelectionError
from conformance.upstream import templates
from conformance.upstream.bound import WIDEST, Bound, scalar
from conformance.upstream.names import split_dtype

DEFAULT_PARAMS = "numel: scalar size_t, inp: in {dtype}*, out: out {dtype}*"
CASES = Path("conformance/cases/__init__.py")

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_PARAM = re.compile(r"([A-Za-z_]\w*)\s*:\s*(scalar|inout|in|out) (void\*|[\w{}]+?)(\*?)", re.ASCII)
_IMPORTS = re.compile(r"(?<=from conformance\.cases\.families import \(\n)(?:    \w+,\n)+")
_TABLE = re.compile(r"(?<=\nFAMILIES: dict\[str, Family\] = \{\n)(?:    .*\n)+(?=\}\n)")


@dataclass(frozen=True)
class Module:
    """A module that is to be made: its name, its source in Candle, and the upstream lines of its kernels by name."""

    name: str
    source: str
    title: str | None
    lines: Mapping[str, int]

    def families(self) -> dict[str, dict[str, str]]:
        """The kernels of each family, by dtype. Raises ``SelectionError`` for a kernel whose name ends in no dtype."""
        found: dict[str, dict[str, str]] = {}
        for name in self.lines:
            family, spelled = split_dtype(name)
            if not spelled or not _is_name(family):
                raise SelectionError(f"kernel {name!r} is not FAMILY_DTYPE; call it such as 'tripled_{{f32,f16}}'")
            found.setdefault(family, {})[SPELLINGS[spelled]] = name
        return found

    def steps(self, unset: bool) -> Iterator[str]:
        """What a person has to do with the files."""
        name = self.name
        families = ", ".join(self.families())
        yield f"specs/{name}.yaml: {'set the tolerance; ' if unset else ''}check title, parameters and their roles"
        yield f"conformance/cases/families/{name}.py: the cases of {families}; `build` says what is missing"
        yield f"reference/{name}.py: what {families} leave in every written buffer"
        yield f"kernels/{name}.hip: the kernels; candle-parity run --module {name} judges them"
        yield f"tests/reference/test_{name}.py: a launch computed by hand; pytest tests/reference/test_{name}.py"
        yield "`candle-parity drift --candle DIR --write` sets source_lines and the upstream lines"


@dataclass(frozen=True)
class _Param:
    name: str
    role: str
    dtype: str

    @property
    def c_type(self) -> str:
        """The parameter in the kernel's template, where its own dtype is ``T``."""
        kind = {"{dtype}": "T", "f8e4m3": "f8", "void*": "void"}.get(self.dtype, self.dtype)
        if self.role == "scalar":
            return f"{kind} {self.name}"
        return f"{'const ' if self.role == 'in' else ''}{kind} *{self.name}"

    @property
    def python_type(self) -> str:
        if self.role != "scalar":
            return "Array"
        return "int" if DTYPES.get(self.dtype, DTYPES["f32"]).kind in ("int", "uint") else "Any"


def skeleton(root: Path, module: Module, params: str | None, bound: Bound) -> dict[Path, str]:
    """The text of each file of ``module``, and of the list of launch families with it, by path below ``root``.

    ``params`` are the kernels' parameters as in a spec, separated by commas. Raises ``SelectionError`` for names and
    parameters that no module can have, and where one of the files is there already.
    """
    families = module.families()
    if not _is_name(module.name):
        raise SelectionError(f"module {module.name!r} is not a name; use small letters, digits and underscores")
    if not module.source.endswith(".cu") or "/" in module.source:
        raise SelectionError(
            f"--cuda {module.source!r} is not a file of candle-kernels/src; give a name such as fill.cu"
        )
    taken = [family for family in families if family in FAMILIES]
    if taken:
        raise SelectionError(
            f"launch family {taken[0]!r} is there already; add kernels to it with --like, or rename them"
        )
    parsed = [_param(part) for part in (params or DEFAULT_PARAMS).split(",")]
    files = {
        Path("specs") / f"{module.name}.yaml": _spec(module, families, parsed, bound),
        Path("conformance/cases/families") / f"{module.name}.py": _family(module, families, parsed),
        Path("reference") / f"{module.name}.py": _reference(module, families, parsed),
        Path("kernels") / f"{module.name}.hip": _kernel(module, families, parsed),
        Path("tests/reference") / f"test_{module.name}.py": templates.TEST.substitute(module=module.name),
    }
    present = [path.as_posix() for path in files if (root / path).exists()]
    if present:
        raise SelectionError(f"{', '.join(present)}: there already; give the module another name, or add with --like")
    return {**files, CASES: _listed((root / CASES).read_text(encoding="utf-8"), module.name)}


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and not keyword.iskeyword(text)


def _param(text: str) -> _Param:
    match = _PARAM.fullmatch(text.strip())
    if match is None:
        raise SelectionError(
            f"--params: {text.strip()!r} is not a parameter; give NAME: scalar TYPE, or NAME: in, out or inout TYPE*, "
            "separated by commas"
        )
    name, role, dtype, star = match.groups()
    if (role == "scalar") == (bool(star) or dtype == "void*"):
        raise SelectionError(f"--params: {text.strip()!r}: a scalar has no *, and in, out and inout need one")
    if keyword.iskeyword(name):
        raise SelectionError(f"--params: {name!r} is a word of Python's, which the reference cannot take; rename it")
    return _Param(name, role, dtype)


def _spec(module: Module, families: Mapping[str, Mapping[str, str]], params: list[_Param], bound: Bound) -> str:
    stanzas = []
    for family, kernels in families.items():
        odd = {dtype: name.removeprefix(f"{family}_") for dtype, name in kernels.items()}
        odd = {dtype: spelled for dtype, spelled in odd.items() if spelled != dtype}
        stanza = [f"  - family: {family}", f'    name: "{family}_{{dtype}}"']
        if odd:
            stanza.append("    spelling: {" + ", ".join(f"{dtype}: {spelled}" for dtype, spelled in odd.items()) + "}")
        stanza.append("    params:")
        for param in params:
            star = "" if param.role == "scalar" or param.dtype == "void*" else "*"
            stanza.append(f"      {param.name}: {param.role} {param.dtype}{star}")
        lines = ", ".join(f"{dtype}: {module.lines[name]}" for dtype, name in kernels.items())
        stanza += ["    row:", "      axis: dtype", f"      lines: {{{lines}}}", "    tolerance:", bound.rule({}, 6)]
        stanzas.append("\n".join(stanza))
    title = scalar(module.title or f"The kernels of {module.source}")
    head = templates.SPEC.substitute(module=module.name, title=title, source=module.source)
    return head + "\n\n".join(stanzas) + "\n"


def _family(module: Module, families: Mapping[str, object], params: list[_Param]) -> str:
    calls: dict[str, Callable[[str], str]] = {
        "in": lambda name: f'drawn(fields, kernel, "{name}", placed, stream)',
        "out": lambda name: f'poisoned(fields, kernel, "{name}", numel)',
        "inout": lambda name: (
            f'in_place(fields, kernel, "{name}", drawn(fields, kernel, "{name}", placed, stream).data)'
        ),
        "numel": lambda name: f'size_t("{name}", numel)',
        "scalar": lambda name: f'fields.scalar(kernel, "{name}", "{name}", "1")',
    }
    kinds = {param.name: "numel" if (param.name, param.role) == ("numel", "scalar") else param.role for param in params}
    given = [f'        "{name}": {calls[kind](name)},' for name, kind in kinds.items()]
    words = {"in": ["drawn"], "out": ["poisoned"], "inout": ["drawn", "in_place"], "numel": ["size_t"], "scalar": []}
    helpers = {"launch", *(word for kind in kinds.values() for word in words[kind])}
    fields = ["shape", "values", *(name for name, kind in kinds.items() if kind == "scalar"), "grid", "block"]
    return templates.FAMILY.substitute(
        module=module.name,
        helpers=", ".join(sorted(helpers)),
        fields=", ".join(f'"{field}"' for field in fields),
        given="\n".join(given),
        families="\n".join(f'    "{family}": Family(_rows, build),' for family in families),
    )


def _reference(module: Module, families: Mapping[str, object], params: list[_Param]) -> str:
    written = [param.name for param in params if param.role in ("out", "inout")]
    arguments = "\n".join(f"    {param.name}: {param.python_type}," for param in params)
    functions = [
        templates.FUNCTION.substitute(
            module=module.name,
            family=family,
            arguments=arguments,
            written=" and ".join(written) or "nothing",
            answer="{" + ", ".join(f'"{name}": Expected({name})' for name in written) + "}",
        )
        for family in families
    ]
    return templates.REFERENCE.substitute(module=module.name) + "\n\n".join(functions)


def _kernel(module: Module, families: Mapping[str, Mapping[str, str]], params: list[_Param]) -> str:
    listed = ", ".join(param.c_type for param in params)
    names = ", ".join(param.name for param in params)
    definitions = "\n".join(
        templates.DEFINITION.substitute(module=module.name, family=family, params=listed) for family in families
    )
    kernels = []
    for family, members in families.items():
        for dtype, name in members.items():
            kind = {"f8e4m3": "f8"}.get(dtype, dtype)
            own = ", ".join(re.sub(r"\bT\b", kind, param.c_type) for param in params)
            head, call = f'extern "C" __global__ void {name}({own}) {{', f"{family}<{kind}>({names});"
            line = f"{head} {call} }}"
            kernels.append(line if len(line) <= WIDEST else f"{head}\n  {call}\n}}")
    return templates.KERNEL.substitute(
        module=module.name, source=module.source, definitions=definitions, kernels="\n".join(kernels)
    )


def _listed(text: str, module: str) -> str:
    """``conformance/cases/__init__.py`` with the module's launch families in the list; raises ``SelectionError``."""
    imports, table = _IMPORTS.search(text), _TABLE.search(text)
    if imports is None or table is None:
        raise SelectionError(f"{CASES}: the list FAMILIES is not as expected; add {module}.FAMILIES to it by hand")
    names = sorted([*imports[0].splitlines(), f"    {module},"])
    changed = text[: table.end()] + f"    **{module}.FAMILIES,\n" + text[table.end() :]
    return changed[: imports.start()] + "\n".join(names) + "\n" + changed[imports.end() :]
