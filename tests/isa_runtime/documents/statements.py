"""Statements of the pseudocode: assignments, conditions, loops, functions; and whole programs, for one lane.

A modest reading of it: integers are Python's, without width until they are assigned, floats are numpy's. What is not
understood is ``Unreadable``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.isa_runtime.documents.expressions import Expressions, applied
from tests.isa_runtime.documents.functions import bits_of
from tests.isa_runtime.documents.tokens import Break, Env, Node, Return, Setter, Unreadable, bits_as, getter, raising

_CLOSING = {"endif", "endfor", "else", "elsif", ")", ""}


class Statements(Expressions):
    """Reads statements; each method stands for a part of the grammar."""

    def statements(self) -> Node:
        steps = []
        while True:
            while self.take(";"):
                pass
            if self.peek() in _CLOSING:
                return lambda env: _run(steps, env)
            steps.append(self.statement())

    def statement(self) -> Node:
        if self.take("if"):
            return self.condition()
        if self.take("for"):
            return self.loop()
        if self.take("declare"):
            return self.declaration()
        if self.take("break"):
            return raising(Break)
        if self.take("return"):
            value = self.expression()

            def give(env: Env) -> None:
                env["return"] = value(env)
                raise Return

            return give
        start = self.at
        try:
            set_, get = self.target()
            sign = self.next()[1]
        except Unreadable:
            sign = ""
        if sign == "=":
            if self.take("lambda"):
                return self.function(set_)
            again = self.chained()
            value = self.expression()

            def assign(env: Env) -> None:
                found = value(env)
                for one in (set_, *again):
                    one(env, found)

            return assign
        if sign in ("+=", "-="):
            value = self.expression()
            return lambda env: set_(env, applied(sign[0], get(env), value(env)))
        self.at = start
        only = self.expression()

        def last(env: Env) -> None:
            env["return"] = only(env)

        return last

    def chained(self) -> list[Setter]:
        """The setters between the first and the value, of an assignment to several."""
        found = []
        while True:
            start = self.at
            try:
                set_, _ = self.target()
                self.skip("=")
            except Unreadable:
                self.at = start
                return found
            found.append(set_)

    def condition(self) -> Node:
        branches = []
        otherwise: Node = lambda env: None  # noqa: E731
        while True:
            test = self.expression()
            self.skip("then")
            branches.append((test, self.statements()))
            if self.take("elsif"):
                continue
            if self.take("else"):
                otherwise = self.statements()
            self.skip("endif")
            break

        def run(env: Env) -> None:
            for test, body in branches:
                if test(env):
                    body(env)
                    return
            otherwise(env)

        return run

    def loop(self) -> Node:
        name = self.next()[1]
        self.skip("in")
        first = self.expression()
        self.skip(":")
        last = self.expression()
        self.skip("do")
        body = self.statements()
        self.skip("endfor")

        def run(env: Env) -> None:
            for n in range(int(first(env)), int(last(env)) + 1):
                env[name] = n
                try:
                    body(env)
                except Break:
                    return

        return run

    def declaration(self) -> Node:
        name = self.next()[1]
        self.skip(":")
        while self.peek() not in (";", ""):
            if self.next()[1] == "[":
                self.at -= 1
                break
        count = self.index()[0] if self.peek() == "[" else None

        def run(env: Env) -> None:
            if name == "S":  # the operands
                env[name] = [env["S0"], env["S1"], env["S2"]]
            else:
                env[name] = [0] * int(count(env)) if count else 0

        return run

    def function(self, set_: Setter) -> Node:
        self.skip("(")
        names = []
        while not self.take(")"):
            names.append(self.next()[1])
            self.take(",")
        self.skip("(")
        body = self.statements()
        self.skip(")")

        def run(env: Env) -> None:
            def call(*given: Any) -> Any:
                inner = {**env, **dict(zip(names, given, strict=True)), "return": None}
                with suppress(Return):
                    body(inner)
                return inner["return"]

            set_(env, call)

        return run

    def target(self) -> tuple[Setter, Node]:
        """What may be assigned to: setter and getter."""
        if self.take("{"):
            return self.pair()
        kind, name = self.next()
        if kind != "word":
            raise Unreadable(name)
        parts = list(self.suffixes())
        get = getter(lambda env: env.setdefault(name, 0), parts)
        member = next((part for part in reversed(parts) if isinstance(part, str)), "")
        place = next((part for part in parts if not isinstance(part, str)), None)

        def set_(env: Env, value: Any) -> None:
            if member.isupper():  # a bit of a hardware register, which nobody looks at
                return
            if place is None:
                env[name] = value if not member or callable(value) else bits_as(member, value)
                return
            high, low = (node and int(node(env)) for node in place)
            if isinstance(env.get(name), list):
                env[name][high] = value
                return
            low = high if low is None else low
            width = high - low + 1
            # The last member is that of the part, where it stands behind it.
            behind = parts.index(place) < len(parts) - 1
            part = bits_as(member, value) if behind else bits_of(value)
            mask = (1 << width) - 1
            env[name] = bits_of(env.get(name, 0)) & ~(mask << low) | (part & mask) << low

        return set_, get

    def pair(self) -> tuple[Setter, Node]:
        parts = []
        while not self.take("}"):
            (kind, name), (behind, member) = self.next(), self.next()
            if (kind, behind) != ("word", "member"):
                raise Unreadable(name)
            parts.append((name, int(member[2:])))
            self.take(",")

        def set_(env: Env, value: Any) -> None:
            rest = int(value)
            for name, width in reversed(parts):
                env[name] = rest & (1 << width) - 1
                rest >>= width

        return set_, raising(Unreadable)


def _run(steps: list[Node], env: Env) -> None:
    for step in steps:
        step(env)


def function(code: str) -> Callable[[Env], None]:
    """What ``code`` does to the variables; raises ``Unreadable``, at once or when it is called."""
    reader = Statements(code)
    body = reader.statements()
    if reader.at < len(reader.tokens):
        raise Unreadable(reader.peek())

    def run(env: Env) -> None:
        try:
            body(env)
        except Return:
            pass
        except (TypeError, KeyError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise Unreadable(repr(error)) from None

    return run
