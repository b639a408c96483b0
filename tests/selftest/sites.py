"""Where a source can be changed, and how: general operators over its syntax tree.

A change replaces one node. What is compiled holds the whole expression around it, or the statement, in each version
that is wanted, and chooses among them at run time (``schemata``): products and sums of one version are fused as they
would be if it stood alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

BINARY = {
    "comparison": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/"},
    "bits": {"<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "|"},
    "logic": {"&&": "||", "||": "&&"},
    "assignment": {"+=": "=", "-=": "+=", "*=": "+=", "/=": "*=", "|=": "=", "&=": "=", "^=": "=", ">>=": "<<="},
}
OPERATORS = {old: (kind, new) for kind, rows in BINARY.items() for old, new in rows.items()}
FOR_BOUNDS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
NARROWER = dict.fromkeys(
    ("size_t", "u64", "u32", "unsigned", "u16", "uint32_t", "unsigned int"), "unsigned char"
) | dict.fromkeys(("i64", "int", "i32", "int64_t"), "signed char")

# What the grammar does not know, as blanks of the same length; a launch's <<<...>>> as one more list of arguments.
_FOREIGN = re.compile(
    r"__(?:device|host|global|shared|restrict|forceinline|constant)__|CANDLE_\w+(?=\s+(?:void|bool|static|constexpr|T|"
    r"u\d+|i\d+|f\d+|auto)\b)|__attribute__\(\(\w+\)\)|__launch_bounds__\([^()]*(?:\([^()]*\)[^()]*)*\)|\\(?=\n)"
)
_EXPRESSIONS = frozenset(
    re.findall(
        r"\w+",
        "binary_expression call_expression argument_list parenthesized_expression subscript_expression new_expression "
        "subscript_argument_list field_expression unary_expression pointer_expression cast_expression template_type "
        "conditional_expression assignment_expression update_expression template_function template_argument_list "
        "initializer_list comma_expression type_descriptor compound_literal_expression template_method dependent_name "
        "qualified_identifier sizeof_expression",
    )
)
_COMPILED = frozenset(
    re.findall(
        r"\w+",
        "static_assert_declaration enumerator array_declarator template_parameter_list case_statement preproc_def "
        "attribute_declaration preproc_function_def gnu_asm_expression parameter_list",
    )
)
"""What only a compiler computes, or takes as it is."""

_BODIES = ("compound_statement", "if_statement", "else_clause", "for_statement", "while_statement", "do_statement")
_BARRIERS = ("__syncthreads", "barrier", "__syncwarp", "__threadfence", "wait")


@dataclass(frozen=True)
class Change:
    """``new`` in place of bytes ``start`` to ``end``, inside the unit (an expression, or a statement)."""

    operator: str
    start: int
    end: int
    new: str
    unit: tuple[int, int]
    statement: bool
    macro: bool = False

    def applied(self, text: bytes) -> bytes:
        """The unit with the change."""
        return text[self.unit[0] : self.start] + self.new.encode() + text[self.end : self.unit[1]]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


def _blanked(text: bytes) -> bytes:
    masked = _FOREIGN.sub(lambda found: " " * len(found[0]), text.decode("latin-1"))
    return masked.replace("<<<", "(  ").replace(">>>", ")  ").encode("latin-1")


def changes(text: bytes) -> list[Change]:
    """Every change that the operators make of a source, in the order of the source."""
    masked = _blanked(text)
    plain, found = masked, []
    # The grammar has the body of a macro as text.
    for macro in re.finditer(rb"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?", masked, re.M):
        end = macro.end()
        while (line := text.find(b"\n", end)) >= 0 and text[:line].endswith(b"\\"):
            end = line + 1
        end = len(text) if line < 0 else line
        plain = plain[: macro.start()] + re.sub(rb"[^\n]", b" ", plain[macro.start() : end]) + plain[end:]
        body = masked[macro.end() : end]
        if b"{" in body:
            found += _of(_parser().parse(body).root_node, macro.end(), masked)
    found += _of(_parser().parse(plain).root_node, 0, masked)
    seen: dict[tuple[int, int, str], Change] = {}
    for change in found:
        if change.new.encode() != text[change.start : change.end]:
            seen.setdefault((change.start, change.end, change.new), change)
    return sorted(seen.values(), key=lambda change: (change.start, change.end, change.new))


def _of(root: Node, base: int, text: bytes) -> Iterator[Change]:
    for node in _walk(root):
        for operator, part, new in _changed(node, base, text):
            start, end = part.start_byte, part.end_byte
            unit = _unit(part)
            if unit is not None and not unit[0].has_error:
                whole, statement = unit
                place = (whole.start_byte + base, whole.end_byte + base)
                yield Change(operator, start + base, end + base, new, place, statement, base > 0)


def _walk(node: Node) -> Iterator[Node]:
    """Nodes below, but for what only a compiler computes."""
    yield node
    for child in node.children:
        if child.type in _COMPILED:
            continue
        if child.type in ("declaration", "field_declaration") and _is_constant(child):
            continue
        if child.type == "if_statement" and any(part.type == "constexpr" for part in child.children):
            yield from (one for part in child.children if part.type != "condition_clause" for one in _walk(part))
            continue
        yield from _walk(child)


def _is_constant(node: Node) -> bool:
    return any(part.type == "type_qualifier" and part.text == b"constexpr" for part in node.children)


def _unit(node: Node) -> tuple[Node, bool] | None:
    """The expression or statement that stands in each version; whether it is a statement."""
    while node.parent is not None:
        parent = node.parent
        if parent.type == "expression_statement":
            node, parent = parent, parent.parent or parent
        if node.type == "expression_statement":
            return (node, True) if parent.type in _BODIES else None
        if parent.type in _EXPRESSIONS:
            node = parent
            continue
        named = node.type in _EXPRESSIONS or node.type in ("identifier", "number_literal", "true", "false")
        if parent.type in ("return_statement", "init_declarator", "for_statement", "condition_clause") and named:
            is_list = node.type in ("argument_list", "initializer_list", "compound_literal_expression")
            declares = parent.type == "init_declarator" and node != parent.child_by_field_name("value")
            return None if is_list or declares else (node, False)
        return None
    return None


def _changed(node: Node, base: int, text: bytes) -> Iterator[tuple[str, Node, str]]:
    """(operator, what is replaced, by what)."""
    kind, parent = node.type, node.parent
    sign = node.child_by_field_name("operator")
    if kind in ("binary_expression", "assignment_expression") and sign is not None:
        row = OPERATORS.get((sign.text or b"").decode())
        if row is not None:
            yield ("bound" if parent is not None and parent.type == "for_statement" else row[0]), sign, row[1]
    elif kind == "number_literal":
        value = (node.text or b"").decode()
        if re.fullmatch(r"\d+[uUlL]*|0x[0-9a-fA-F]+[uUlL]*", value):
            yield "constant", node, f"({value} + 1)"
            if not re.fullmatch(r"0[xuUlL]?", value):
                yield "constant", node, f"({value} - 1)"
        elif not value.startswith("0x"):
            yield "constant", node, f"({value} * 1.001f)"
    elif kind == "identifier" and parent is not None and not _is_callee(node):
        for other in _of_same_type(node):
            yield "variable", node, other
    elif kind == "unary_expression" and sign is not None and sign.text in (b"!", b"-", b"~"):
        argument = node.child_by_field_name("argument")
        if argument is not None:
            yield "negation", node, f"({_slice(text, base, argument)})"
    elif kind == "condition_clause" and node.child_by_field_name("value") is not None:
        value_node = node.child_by_field_name("value")
        assert value_node is not None
        if value_node.type in _EXPRESSIONS and parent is not None and parent.type == "if_statement":
            yield "guard", value_node, "true"
            yield "guard", value_node, "false"
    elif kind == "conditional_expression":
        for name in ("consequence", "alternative"):
            part = node.child_by_field_name(name)
            if part is not None:
                yield "choice", node, f"({_slice(text, base, part)})"
    elif kind == "expression_statement" and node.named_child_count:
        said = node.text or b""
        yield ("barrier" if any(one.encode() in said for one in _BARRIERS) else "statement"), node, ";"
    elif kind == "init_declarator" and parent is not None:
        declared = parent.child_by_field_name("type")
        value_node = node.child_by_field_name("value")
        narrow = NARROWER.get((declared.text or b"").decode()) if declared is not None else None
        declarator = node.child_by_field_name("declarator")
        plain = declarator is not None and declarator.type == "identifier"
        lists = ("argument_list", "initializer_list")
        if narrow and plain and value_node is not None and value_node.type in _EXPRESSIONS.difference(lists):
            yield "width", value_node, f"({narrow})({_slice(text, base, value_node)})"


def _slice(text: bytes, base: int, node: Node) -> str:
    return text[base + node.start_byte : base + node.end_byte].decode("latin-1")


def _is_callee(node: Node) -> bool:
    parent = node.parent
    assert parent is not None
    if parent.type in ("call_expression", "template_function", "qualified_identifier") or "declarator" in parent.type:
        return parent.type != "init_declarator" or node != parent.child_by_field_name("value")
    return parent.type not in (*_EXPRESSIONS, "return_statement", "condition_clause", "for_statement")


def _of_same_type(node: Node) -> list[str]:
    """The next variable of the same type that is known where ``node`` stands; one at most."""
    known: dict[str, str] = {}
    scope: Node | None = node
    while scope is not None:
        parts = list(scope.children)
        if scope.type in ("function_definition", "lambda_expression"):
            declarator = scope.child_by_field_name("declarator")
            lists = [one for one in _descend(declarator) if one.type == "parameter_list"][:1] if declarator else []
            parts += [one for group in lists for one in group.children]
        for part in parts:
            if part.type in ("declaration", "parameter_declaration") and part.end_byte <= node.start_byte:
                for name, kind in _declared(part):
                    known.setdefault(name, kind)
        if scope.type == "function_definition":
            break
        scope = scope.parent
    mine = (node.text or b"").decode()
    names = sorted(name for name, kind in known.items() if kind == known.get(mine))
    return [names[(names.index(mine) + 1) % len(names)]] if len(names) > 1 else []


def _descend(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _descend(child)


def _declared(node: Node) -> Iterator[tuple[str, str]]:
    """Names and types of a declaration."""
    written = node.child_by_field_name("type")
    for part in node.children_by_field_name("declarator"):
        stars, inner = "", part
        while inner.type != "identifier":
            stars += {"pointer_declarator": "*", "reference_declarator": "", "array_declarator": "[]"}.get(
                inner.type, ""
            )
            of_reference = inner.named_children[:1] if inner.type == "reference_declarator" else []
            following = inner.child_by_field_name("declarator") or next(iter(of_reference), None)
            if following is None:
                break
            inner = following
        else:
            if written is not None and "[]" not in stars:
                yield (inner.text or b"").decode(), (written.text or b"").decode() + stars
