"""What describes a port's own kernels is read from its folders, added to Candle's, and errors say where."""

from __future__ import annotations

import pytest

from conformance.port.config import read_config
from conformance.session.setup import specs_from
from conformance.settings import Settings
from conformance.spec import SpecError
from conformance.spec.load import Specs, load_specs
from tests.own.ports import OwnPort, changed


def read(port: OwnPort) -> Specs:
    return specs_from(Settings(), read_config(port.declaration))


def error(port: OwnPort) -> str:
    with pytest.raises(SpecError) as caught:
        read(port)
    return str(caught.value)


def test_own_kernels_stand_beside_candles(port: OwnPort) -> None:
    specs, candles = read(port), load_specs()
    assert specs.kernels == candles.kernels
    assert specs.digest == candles.digest
    assert list(specs.own) == ["fadd_relu_f32", "fadd_relu_f64"]
    assert specs.own["fadd_relu_f64"].upstream == "parity/specs/fused.yaml:9"


def test_reading_runs_nothing_of_the_port(port: OwnPort) -> None:
    port.reference.write_text("raise SystemExit('ran')")
    own = read(port).own["fadd_relu_f32"].own
    assert own is not None
    assert not own.trusted


def test_the_digest_is_over_what_links_lead_to(port: OwnPort) -> None:
    """A reference may import from such a folder, and expected answers are kept by the digest."""
    (port.folder / "shared").mkdir()
    shared = port.folder / "shared" / "rows.py"
    shared.write_text("ONE = 1\n")
    port.reference.with_name("shared").symlink_to(shared.parent)
    port.reference.with_name("loop").symlink_to(port.reference.parent)
    before = read(port).own_digest
    assert read(port).own_digest == before
    shared.write_text("ONE = 2\n")
    assert read(port).own_digest != before


@pytest.mark.parametrize("name", ["table.npy", "limits.json", "data/weights.bin", "no_suffix"])
def test_the_digest_is_over_data_that_a_reference_may_read(port: OwnPort, name: str) -> None:
    file = port.reference.parent / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"1")
    before = read(port).own_digest
    file.write_bytes(b"2")
    assert read(port).own_digest != before


def test_the_digest_is_not_over_what_python_compiled(port: OwnPort) -> None:
    before = read(port).own_digest
    for name in ("__pycache__/fused.pyc", ".cache/x"):
        file = port.reference.parent / name
        file.parent.mkdir()
        file.write_bytes(b"1")
    (port.reference.parent / "broken").symlink_to("nothing")
    assert read(port).own_digest == before


def test_folders_that_hold_too_much_are_refused(port: OwnPort) -> None:
    with port.reference.with_name("weights.bin").open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert "weights.bin: cannot be read (it is larger than" in error(port)


def test_a_name_that_candle_has_is_an_error(port: OwnPort) -> None:
    line = changed(port.spec, "dtype: [f32, f64]", "dtype: [f32]") and changed(
        port.spec, "fadd_relu_{dtype}", "uexp_{dtype}"
    )
    assert line == 6
    assert "fused.yaml:9: uexp_f32 is one of Candle's kernels (unary.cu:" in error(port)


def test_a_module_that_candle_has_is_an_error(port: OwnPort) -> None:
    port.spec.rename(port.spec.with_name("unary.yaml"))
    changed(port.spec.with_name("unary.yaml"), "module: fused", "module: unary")
    assert "unary.yaml:1: 'unary' is one of Candle's modules" in error(port)


def test_a_module_without_a_reference_names_the_functions(port: OwnPort) -> None:
    port.reference.unlink()
    assert error(port).endswith("add parity/reference/fused.py with a function for each family: add_relu")


def test_a_family_says_which_axis_it_needs(port: OwnPort) -> None:
    changed(port.spec, "  variant: {op: add}\n", "")
    text = error(port)
    assert text.startswith(f"{port.spec}:8: launch family 'binary' needs the axis op of its kernels")
    assert "`variant: {op: add}`" in text


def test_a_family_says_which_parameters_it_has(port: OwnPort) -> None:
    changed(port.spec, "    num_dims: scalar size_t\n", "")
    text = error(port)
    assert text.startswith(f"{port.spec}:9: kernel fadd_relu_f32 has other parameters than")
    assert "num_dims: scalar size_t" in text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("launch: binary", "launch: binray", "did you mean binary?"),
        ("  tolerance:", "  tolerence:", "did you mean tolerance?"),
        ("dtype: [f32, f64]", "dtpye: [f32, f64]", "did you mean dtype?"),
        ("dtype: [f32, f64]", "dtype: [f32, f23]", "unknown dtype 'f23'"),
        ("dtype: [f32, f64]", "dtype: [f32, f32]", "dtype 'f32' is given twice"),
        ("in {dtype}*", "in {dtpe}*", "placeholder {dtpe} has no value"),
        ("module: fused", "module: other", "call it 'fused'"),
    ],
)
def test_an_error_names_file_line_and_the_nearest_word(port: OwnPort, before: str, after: str, words: str) -> None:
    line = changed(port.spec, before, after)
    text = error(port)
    assert words in text
    path, number, _ = text.split(":", 2)
    assert path.endswith("parity/specs/fused.yaml")
    assert int(number) in (line, 9)  # of a kernel, where its last axis has its value
