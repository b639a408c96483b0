"""The text of a new module's files; ``skeleton`` fills it in."""

from __future__ import annotations

from string import Template

SPEC = Template("""\
# yaml-language-server: $$schema=schema.json
# How to read a spec, and what the bounds mean: see the head of unary.yaml.
module: $module
title: $title
source: $source
source_lines: 1

families:
""")

FAMILY = Template('''\
"""The launches of $module."""

from __future__ import annotations

from functools import lru_cache

from conformance.cases.arguments import Family, Fields, Row, $helpers
from conformance.cases.case import Case
from conformance.cases.launch import Argument, Launch
from conformance.cases.layouts import layout
from conformance.cases.rows import SIZES, SPECIAL, filled, parsed
from conformance.cases.values import RandomStream
from conformance.spec.kernel import Kernel

_FIELDS = ($fields)


@lru_cache
def _rows_of(name: str) -> tuple[Row, ...]:
    # TODO: rows for what ports of these kernels get wrong, each with the id of its bug class (specs/bug-classes.md).
    return parsed(filled([*SIZES, *SPECIAL], name))


def _rows(kernel: Kernel) -> tuple[Row, ...]:
    return _rows_of(kernel.variant["dtype"])


def build(kernel: Kernel, case: Case, stream: RandomStream) -> Launch:
    """The launch of ``case``, as Candle's Rust side makes it."""
    fields = Fields(case, _FIELDS)
    (numel,) = fields.shape(rank=1)
    placed = layout("contiguous", (numel,))
    given: dict[str, Argument] = {
$given
    }
    raise ValueError(
        "conformance/cases/families/$module.py: build is to be filled in: check that its arguments and its grid are "
        "those of Candle's Rust side, then remove this error"
    )
    return launch(kernel, fields, numel, given)


FAMILIES: dict[str, Family] = {
$families
}
''')

REFERENCE = Template('''\
"""The reference of $module, in Candle's order of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from reference import NoReference
from reference.expected import Expected

Array = NDArray[Any]


''')

FUNCTION = Template('''\
def $family(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
$arguments
) -> dict[str, Expected]:
    """What is in $written after a launch."""
    raise NoReference(
        "reference/$module.py: $family is to be filled in: return what is in $written after a launch, whole buffers "
        "(elements that are not written stay as they are), in place of this error"
    )
    return $answer
''')

KERNEL = Template("""\
// The kernels of Candle's $source.
#include "include/arithmetic.h"

using namespace candle;

namespace {

$definitions
}  // namespace

$kernels
""")

DEFINITION = Template("""\
template <class T>
__device__ inline void $family($params) {
#error "kernels/$module.hip: $family is to be filled in, in place of this line"
}
""")

TEST = Template('''\
"""The reference of $module, and its cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.cases import cases_for, launch_for
from conformance.dtypes import dtype
from conformance.spec.kernel import Kernel
from conformance.spec.load import load_specs
from reference import evaluate

KERNELS = load_specs().select(module="$module")

# A kernel, its arguments (lists for buffers), and what is then in each written buffer: not taken from the reference.
BY_HAND: list[tuple[str, dict[str, Any], dict[str, list[float]]]] = []


def test_the_reference_answers_what_was_computed_by_hand() -> None:
    assert BY_HAND, "tests/reference/test_$module.py: BY_HAND is to be filled in: a launch that is computed by hand"
    kernels = {kernel.name: kernel for kernel in KERNELS}
    for name, arguments, answers in BY_HAND:
        kernel = kernels[name]
        given = {
            key: np.array(value, dtype(kernel.param(key).dtype).numpy) if isinstance(value, list) else value
            for key, value in arguments.items()
        }
        found = evaluate(kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, given)
        assert {key: expected.value.tolist() for key, expected in found.items()} == answers


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_reference_has_an_answer_to_every_case(kernel: Kernel) -> None:
    written = {parameter.name for parameter in kernel.params if parameter.role in ("out", "inout")}
    for case in cases_for(kernel):
        given = launch_for(kernel, case).reference_arguments()
        found = evaluate(kernel.module, kernel.family, kernel.variant, kernel.tolerance.library_ulp, given)
        assert found.keys() == written
        assert all(len(expected.value) == len(given[name]) for name, expected in found.items())
''')
