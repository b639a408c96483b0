"""Code objects against the specs; the objects are made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.port.check.findings import CheckFinding
from conformance.port.check.objects import ObjectFile, check_objects
from conformance.port.code_objects import Argument, CodeObject, KernelObject
from conformance.port.signature import expected_arguments
from conformance.spec.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def kernel(
    name: str, arguments: tuple[Argument, ...], spills: int = 0, lds: int = 0, most_threads: int = 1024
) -> KernelObject:
    return KernelObject(name, arguments, 8, 16, spills, 0, lds, 0, 64, most_threads, 296)


def checked(
    specs: Specs, *kernels: KernelObject, target: str = "gfx942", wanted: str = "uexp_f32"
) -> list[CheckFinding]:
    file = ObjectFile("port/unary.hsaco", CodeObject(target, {item.name: item for item in kernels}))
    return check_objects([file], specs.kernels, [specs.kernels[wanted]])


def right(specs: Specs, name: str = "uexp_f32") -> tuple[Argument, ...]:
    return expected_arguments(specs.kernels[name])


def test_a_right_object_has_no_finding(specs: Specs) -> None:
    assert checked(specs, kernel("uexp_f32", right(specs))) == []


def test_a_size_t_turned_int_is_an_argument_of_another_size(specs: Specs) -> None:
    arguments = (Argument(0, 4, "by_value"), *right(specs)[1:])
    (found,) = checked(specs, kernel("uexp_f32", arguments))
    assert (found.kind, found.kernel, found.place, found.target) == (
        "arguments",
        "uexp_f32",
        "port/unary.hsaco",
        "gfx942",
    )
    assert "parameter 1 is a value of 4 bytes" in found.message


def test_names_are_missing_extra_and_near(specs: Specs) -> None:
    found = checked(specs, kernel("uxp_f32", right(specs)))
    assert [(item.kind, item.kernel, item.intended) for item in found] == [
        ("extra", "uxp_f32", "uexp_f32"),
        ("missing", "uexp_f32", None),
    ]


def test_a_mangled_name_is_told_as_such(specs: Specs) -> None:
    found = checked(specs, kernel("_Z8uexp_f32mmPKmPKfPf", right(specs)), kernel("uexp_f32", right(specs)))
    assert [item.kind for item in found] == ["extra"]
    assert 'extern "C" is missing' in found[0].message


def test_each_target_has_to_have_every_kernel(specs: Specs) -> None:
    files = [
        ObjectFile("a.hsaco", CodeObject("gfx942", {"uexp_f32": kernel("uexp_f32", right(specs))})),
        ObjectFile("b.hsaco", CodeObject("gfx90a", {})),
    ]
    found = check_objects(files, specs.kernels, [specs.kernels["uexp_f32"]])
    assert [(item.kind, item.target) for item in found] == [("missing", "gfx90a")]


@pytest.mark.parametrize(("target", "over"), [("gfx942", True), ("gfx1100", True), ("gfx950", False)])
def test_spills_and_too_much_shared_memory_are_warnings(specs: Specs, target: str, over: bool) -> None:
    found = checked(specs, kernel("uexp_f32", right(specs), spills=5, lds=65537), target=target)
    assert [item.kind for item in found] == (["spills", "lds"] if over else ["spills"])
    assert all(item.is_warning for item in found)
    assert "spills 5 vector" in found[0].message
    fitting = checked(specs, kernel("uexp_f32", right(specs), lds=65536), target=target)
    assert fitting == []


def test_the_files_of_a_folder_are_checked_together(specs: Specs, tmp_path: Path) -> None:
    one = ObjectFile("a.hsaco", CodeObject("gfx942", {"uexp_f32": kernel("uexp_f32", right(specs))}))
    two = ObjectFile("b.hsaco", CodeObject("gfx942", {"uexp_f32": kernel("uexp_f32", right(specs))}))
    found = check_objects([one, two], specs.kernels, [specs.kernels["uexp_f32"]])
    assert [(item.kind, item.place) for item in found] == [("duplicate", "b.hsaco")]


@pytest.mark.parametrize(
    ("name", "most_threads", "launched"),
    [
        *(("uexp_f32", 512, 1024), ("uexp_f32", 1024, None)),
        *(("softmax_f32", 32, None), ("softmax_f32", 16, 32)),  # Candle's blocks are of 32 threads there
        *(("rmsnorm_f32", 32, 1024), ("rmsnorm_f32", 0, None)),  # from 1,024 columns on; 0: the object does not say
    ],
)
def test_blocks_are_as_large_as_candles(specs: Specs, name: str, most_threads: int, launched: int | None) -> None:
    found = checked(specs, kernel(name, right(specs, name), most_threads=most_threads), wanted=name)
    said = f"allows blocks of at most {most_threads} threads (max_flat_workgroup_size), Candle launches {launched}; "
    assert [(one.kind, one.message.startswith(said)) for one in found] == ([("block_limit", True)] if launched else [])
