"""Runs Rust functions over sets of possible values, and notes every kernel name that reaches a load function.

Nothing is guessed: a value that the analysis does not follow is unknown, text with an unknown part is a pattern, and a
load that no analysed path reaches is reported as such by the caller.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tree_sitter import Node

from conformance.upstream.wiring.index import Index
from conformance.upstream.wiring.items import Constant, Function, Owner, Type, Unit
from conformance.upstream.wiring.patterns import Patterns
from conformance.upstream.wiring.syntax import text_of
from conformance.upstream.wiring.values import NEVER, UNKNOWN, Atom, Closure, Obj, Str, Values, Variant

INLINE_DEPTH = 12
_COMBINATIONS = 256
_ROUNDS = 8
_TEXT = re.compile(r"\b(str|String|Cow)\b")

Types = Mapping[str, Type]


@dataclass(frozen=True)
class Request:
    """A name that the load at ``at`` can ask for. ``spelled`` are the literals it is made of; ``callers`` are the calls
    that hand it to the function round the load. ``words`` are those of the load's arguments."""

    text: Str
    at: str
    callers: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Context:
    """One way in which a function is called: its type parameters, its arguments, its ``Self``, and from where."""

    types: tuple[tuple[str, Type], ...] = ()
    arguments: tuple[Values, ...] = ()
    self_type: Type | None = None
    callers: tuple[str, ...] = ()
    uncalled: bool = False


@dataclass
class Frame:
    """A function while it runs."""

    function: Function | None
    unit: Unit
    types: Types
    self_type: Type | None
    variables: dict[str, Values]
    depth: int = 0
    callers: tuple[str, ...] = ()
    returns: list[Values] = field(default_factory=list)
    shadowed: list[dict[str, Values | None]] = field(default_factory=list)
    silent: bool = False
    choices: dict[str, Values] | None = None  # where asked for: the enums among its variables, by name
    fixed: Mapping[str, Values] = field(default_factory=dict)  # one variant for each of them
    uncalled: bool = False  # a public function that nothing calls: a name that is its parameter is nobody's

    def chosen(self, name: str, values: Values) -> Values:
        """What variable ``name`` of ``values`` is in this run: the variant that is fixed for it, if it can be that."""
        chosen = values & self.fixed.get(name, values) or values
        if self.choices is not None and len(chosen) > 1 and all(isinstance(atom, Variant) for atom in chosen):
            self.choices.setdefault(name, chosen)
        return chosen

    def declare(self, name: str, value: Values) -> None:
        """A new variable, until the block ends."""
        for path in [key for key in self.variables if key == name or key.startswith(f"{name}.")]:
            self._save(path)
            del self.variables[path]
        self._save(name)
        self.variables[name] = value

    def _save(self, name: str) -> None:
        if self.shadowed and name not in self.shadowed[-1]:
            self.shadowed[-1][name] = self.variables.get(name)


class Machine:
    """The state of one analysis: what was asked for, how functions are called, what fields were set to."""

    def __init__(self, index: Index, loads: frozenset[str], live: Sequence[Function], probing: bool = False) -> None:
        self.index = index
        self.loads = loads
        self.live = list(live)
        # While probing, a type parameter stands for itself, and ``doubtful`` says that a name depends on the caller.
        self.probing = probing
        self.doubtful = False
        self._tried: Function | None = None
        self.live_names = frozenset(function.name for function in live)
        self.requests: dict[tuple[str, tuple[str | None, ...]], Request] = {}
        self.reached: set[str] = set()
        self._handing: set[int] = set()
        self.contexts: dict[int, dict[Context, None]] = {id(function): {} for function in live}
        self._noted: dict[int, dict[Context, None]] = {}
        self.fields: dict[tuple[str, str], Values] = {}
        self._constants: dict[tuple[int, Type | None], Values] = {}

    def run(self) -> None:
        """Runs every live function in each way it is called, until nothing new is learnt.

        What a round learns of the calls replaces what the one before did: a call whose arguments were not known yet
        does not stay.
        """
        for _ in range(_ROUNDS):
            fields = dict(self.fields)
            self._noted = {key: {} for key in self.contexts}
            self.requests.clear()
            self._constants.clear()
            for function in self.live:
                for context in self._ways(function):
                    self._call(function, context)
            settled = self._noted == self.contexts and fields == self.fields
            self.contexts = self._noted
            if settled:
                return

    def try_out(self, function: Function) -> bool:
        """Runs a function with nothing known of its parameters; whether it loads a kernel itself."""
        self._tried = function
        self.reached.clear()
        self._call(function, Context())
        return bool(self.reached)

    def hands_on(self, function: Function) -> bool:
        """Whether the function was seen to load a kernel by a text that it is given."""
        return id(function) in self._handing

    def note_loader(self, function: Function) -> None:
        """Remembers that the function hands a text on to one that loads a kernel by it."""
        self._handing.add(id(function))

    def is_live(self, function: Function) -> bool:
        """Whether the function is run on its own, and not at each of its calls."""
        return id(function) in self.contexts

    def note_call(self, function: Function, context: Context) -> None:
        """Remembers one way in which a live function is called."""
        if self.probing:
            generics = {**function.generics, **(function.owner.generics if function.owner else {})}
            bound = dict(context.types)
            open_types = any(name not in bound for name in generics)
            unknown = any(
                (value == UNKNOWN or any(isinstance(atom, Str) and atom.known is None for atom in value))
                and self.tells_names(kind, self._tried is not None and not self._tried.open)
                for value, (_, kind) in zip(context.arguments, function.params, strict=False)
            )
            self.doubtful = self.doubtful or open_types or unknown
            return
        self._noted[id(function)].setdefault(context)

    def note_field(self, owner: str, name: str, value: Values) -> None:
        """Remembers what a struct's field is set to."""
        self.fields[owner, name] = self.fields.get((owner, name), frozenset()) | value

    def note_load(self, frame: Frame, node: Node, names: Sequence[Str], words: frozenset[str], given: bool) -> None:
        """Remembers what the load at ``node`` asks for.

        ``words`` are those of its arguments; ``given`` says that the name is a parameter of the function round it.
        """
        at = frame.unit.place(node)
        self.reached.add(at)
        if given and frame.function is not None:
            self.note_loader(frame.function)
        if self.probing:
            self.doubtful = self.doubtful or any(text.known is None for text in names)
            return
        for text in names:
            known = self.requests.get((at, text.parts))
            callers = tuple(dict.fromkeys((*(known.callers if known else ()), *frame.callers)))
            places = tuple(dict.fromkeys((*(known.text.places if known else ()), *text.places)))
            self.requests[at, text.parts] = Request(Str(text.parts, places), at, callers, words)

    def _ways(self, function: Function) -> list[Context]:
        """The contexts of a function with each type parameter that no call determines replaced by its bounds."""
        known = list(self.contexts[id(function)]) or [Context(uncalled=function.open)]
        generics = {**(function.owner.generics if function.owner else {}), **function.generics}
        ways: dict[Context, None] = {}
        for context in known:
            # Another caller may give another dtype; a text is taken from the callers that are seen.
            arguments = tuple(map(_loosened, context.arguments)) if function.open else context.arguments
            rows: list[dict[str, Type]] = [dict(context.types)]
            for name, traits in generics.items():
                if name not in rows[0] and (kinds := self.index.implementers(traits)):
                    rows = [{**row, name: kind} for row in rows for kind in kinds]
            for row in rows:
                ways.setdefault(
                    Context(tuple(sorted(row.items())), arguments, context.self_type, context.callers, context.uncalled)
                )
        return list(ways)

    def _call(self, function: Function, context: Context) -> None:
        types = dict(context.types)
        owner = function.owner
        self_type = context.self_type
        if owner is not None and owner.type is not None:
            self_type = types.get(owner.type.name) or self.index.resolved(owner.type, owner.unit)
        run = partial(
            self.enter, function, types, self_type, context.arguments, 0, context.callers, uncalled=context.uncalled
        )
        # A check of two enums together, such as which casts there are, says nothing of each alone.
        kinds = [kind for _, kind in function.params]
        kinds += [kind for one in self.index.structs.get(str(self_type), []) for kind in one.fields.values()]
        takes_enum = any(kind is not None and kind.name in self.index.plain_enums for kind in kinds)
        for fixed in _cases(run, {}, _COMBINATIONS) if takes_enum else [{}]:
            run(fixed=fixed)

    def enter(
        self,
        function: Function,
        types: Types,
        self_type: Type | None,
        arguments: Sequence[Values],
        depth: int,
        callers: tuple[str, ...] = (),
        variables: Mapping[str, Values] | None = None,
        silent: bool = False,
        choices: dict[str, Values] | None = None,
        fixed: Mapping[str, Values] | None = None,
        uncalled: bool = False,
    ) -> Values:
        """What ``function`` returns for ``arguments``; those that are missing are what their types allow."""
        from conformance.upstream.wiring.expressions import Evaluator

        frame = Frame(
            function,
            function.unit,
            types,
            self_type,
            dict(variables or {}),
            depth,
            callers,
            silent=silent,
            choices=choices,
            fixed=fixed or {},
            uncalled=uncalled,
        )
        if function.has_self:
            frame.variables.setdefault("self", UNKNOWN if self_type is None else frozenset({Obj(self_type)}))
        patterns = self.patterns(function.unit, self_type)
        for position, (pattern, kind) in enumerate(function.params):
            given = arguments[position] if position < len(arguments) else UNKNOWN
            declared = self.typed(kind, frame)
            value = declared if given == UNKNOWN or not given else given
            patterns.take(pattern, value, frame.variables)
            name = text_of(pattern)
            if name in frame.variables and kind is not None and kind.name in self.index.plain_enums:
                frame.variables[name] = frame.chosen(name, self.expand(value))
        return Evaluator(self, frame).function(function.body)

    def patterns(self, unit: Unit, self_type: Type | None) -> Patterns:
        """Patterns as ``unit`` sees them, where ``Self`` is ``self_type``."""
        return Patterns(self.index, unit, self.expand, self_type)

    def typed(self, kind: Type | None, frame: Frame) -> Values:
        """A value of which only the declared type is known."""
        if kind is None:
            return UNKNOWN
        return frozenset({Obj(self.concrete(kind, frame))})

    def concrete(self, kind: Type, frame: Frame) -> Type:
        """``kind`` with the frame's type parameters and ``Self`` put in."""
        if kind.name == "Self" and frame.self_type is not None:
            return frame.self_type
        if kind.name in frame.types:
            return frame.types[kind.name]
        resolved = self.index.resolved(Type(kind.name), frame.unit)
        return Type(resolved.name, tuple(self.concrete(arg, frame) for arg in kind.args))

    def expand(self, values: Values) -> Values:
        """``values`` with each enum of which only the type is known replaced by all its variants."""
        result: set[Atom] = set()
        for atom in values:
            enum = self.index.enum(atom.type.name, Unit("")) if isinstance(atom, Obj) else None
            if enum is not None:
                result |= {Variant(enum.name, name) for name in enum.variants}
            else:
                result.add(atom)
        return frozenset(result)

    def constant(self, constant: Constant, self_type: Type | None, depth: int) -> Values:
        """What a constant holds."""
        from conformance.upstream.wiring.expressions import Evaluator

        key = (id(constant), self_type)
        if self.probing and constant.value is None:
            return UNKNOWN
        if key not in self._constants:
            self._constants[key] = UNKNOWN  # for a constant that is defined by itself
            frame = Frame(None, constant.unit, {}, self_type, {}, depth + 1, silent=True)
            if constant.value is None or depth > INLINE_DEPTH:
                value = self.typed(constant.type, frame)
            else:
                value = Evaluator(self, frame).value(constant.value)
            self._constants[key] = value
        return self._constants[key]

    def owners_of(self, kind: Type) -> list[Owner]:
        """The impl blocks of a type."""
        return self.index.owners.get(kind.name, [])

    def tells_names(self, kind: Type | None, enums: bool) -> bool:
        """Whether a parameter of this type can hand a part of a name over: text, a closure, or (``enums``) an enum."""
        if kind is None or kind.name in ("str", "String", "Cow"):
            return True
        return enums and kind.name in self.index.plain_enums

    def answers_names(self, function: Function) -> bool:
        """Whether what the function returns can be part of a name: text, a struct that holds text, or an enum."""
        returned = function.returns
        return bool(_TEXT.search(returned)) or any(
            word in self.index.plain_enums
            or self.index.resolved(Type(word), function.unit).name in self.index.structs_with_text
            for word in re.findall(r"\w+", returned)
        )


def _cases(run: Callable[..., Values], fixed: Mapping[str, Values], most: int) -> list[Mapping[str, Values]]:
    """``fixed`` with one variant for each further enum that the function depends on, at most ``most`` of them."""
    choices: dict[str, Values] = {}
    run(silent=True, choices=choices, fixed=fixed)
    name, values = next(iter(choices.items()), ("", NEVER))
    if not values or len(values) > most:
        return [fixed]
    cases = (_cases(run, {**fixed, name: frozenset({one})}, most // len(values)) for one in values)
    return list(itertools.chain.from_iterable(cases))


def _loosened(value: Values) -> Values:
    return value if any(isinstance(atom, Str | Closure) for atom in value) else UNKNOWN
