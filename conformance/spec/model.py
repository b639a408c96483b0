"""The shape of a spec file. ``specs/schema.json`` is generated from these models; see ``conformance.spec.schema``.

A field's description is what an error message calls "expected".
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from conformance.spec.entry import Entry

Axis = Literal["op", "dtype", "src_dtype", "dst_dtype", "idx_dtype", "qtype", "ncols_y", "layout"]
Line = Annotated[int, Field(ge=1)]

MOST_STEPS = 16
"""The largest tolerance. CUDA, HIP and OpenCL (full profile) document no larger error for a function that Candle calls,
and the widest of the specs is 16; a step of f8e4m3 is an eighth, so that more would let a wrong kernel pass."""

TODO = "TODO"
"""What `new` and `drift` write where a person has to decide; no spec is loaded with it."""


def _decided(text: str) -> str:
    if text == TODO:
        raise ValueError("still to be set")
    return text


Steps = Annotated[int, Field(ge=0, le=MOST_STEPS)]
Text = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_decided)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
When = Annotated[
    dict[Axis, Annotated[list[Text], Field(min_length=1)]],
    Field(description="a mapping from an axis to the list of its values that are meant, such as {op: [exp, log]}"),
]


class Strict(BaseModel):
    """A mapping with exactly these keys and no conversion between types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class KernelRow(Strict):
    """Kernels along one axis, an upstream line for each of its values: ``{axis: dtype, lines: {f32: 12, f16: 40}}``."""

    axis: Axis = Field(description="the axis that tells the kernels apart: op, dtype, src_dtype, idx_dtype or qtype")
    lines: dict[str, Line] = Field(
        min_length=1, description="a mapping from a value of the axis to the line of that kernel in the upstream file"
    )


class KernelTable(Strict):
    """Kernels over two axes: a row of upstream lines per value of ``rows``, a column per value of ``columns``."""

    rows: Axis = Field(description="the axis of the rows")
    columns: dict[Axis, Annotated[list[Name], Field(min_length=1)]] = Field(
        min_length=1, max_length=1, description="a mapping with one axis and the list of its values, one per column"
    )
    lines: dict[str, list[Line | None]] = Field(
        min_length=1,
        description="a mapping from a value of the row axis to a list of upstream lines, one per column; "
        "~ where there is no such kernel",
    )


class ToleranceRule(Strict):
    """How far results may be off, for the kernels that ``when`` selects. Exactly one rule must select each kernel."""

    when: When = {}
    ulp: Steps | dict[str, Steps] = Field(
        description=f"an integer from 0 to {MOST_STEPS}, or a mapping from dtype to such an integer: steps of the "
        "output type that the final result may be off"
    )
    library_ulp: Steps | dict[str, Steps] = Field(
        description=f"an integer from 0 to {MOST_STEPS}, or a mapping from dtype to such an integer: the error of the "
        "library function inside the formula"
    )
    source: Text = Field(description="where the bound comes from, as text")


class Remark(Strict):
    """A sentence about the kernels that ``when`` selects; without ``when``, about all kernels of the stanza."""

    when: When = {}
    text: Text = Field(description="one or more sentences of text")


class UpstreamDefect(Remark):
    """A remark on what upstream gets wrong. ``cases`` are those where the right result is expected all the same.

    Each is a pattern of the text between a case id's brackets, as the shell has them. ``fix`` is the name under which
    the reference knows the right result, for ports that say that they have it.
    """

    cases: list[Text] = Field(
        default=[], description="a list of patterns of cases, such as *nrows=7,*, whose right result upstream misses"
    )
    fix: Text | None = Field(
        default=None, description="the name under which the reference knows the right result, such as expert-stride"
    )


class Workload(Strict):
    """Cases that ``bench`` times for the kernels that ``when`` selects; each is the text between a case id's brackets.

    ``large`` ones do not fit in a GPU's cache, ``small`` ones are what a model's layer has.
    """

    when: When = {}
    large: list[Text] = Field(default=[], description="a list of cases, such as shape=[8192,8192],layout=transposed")
    small: list[Text] = Field(default=[], description="a list of cases, such as shape=[1048576],values=unit")


class UndefinedInput(Strict):
    """Input for which Candle's kernel promises no result, such as an id outside of the tensor; no case has it."""

    when: When = {}
    input: Text = Field(description="the input that is meant, as text")
    reason: Text = Field(description="why there is no result to compare with, as text")


class Stanza(Strict):
    """Kernels of one family that share a name template and a parameter list."""

    family: Text = Field(description="the family's name; several stanzas may belong to one family")
    launch: Text | None = Field(default=None, description="the launch family, where it is not the family's own name")
    name: Name = Field(description='the kernel name with an axis in braces, such as "u{op}_{dtype}"')
    spelling: dict[str, Annotated[str, Field(max_length=200)]] = Field(
        default={}, description="a mapping from a value of an axis to its spelling in kernel names, where it differs"
    )
    variant: dict[Axis, Name] = Field(
        default={}, description="a mapping from further axes to a value, or to another axis in braces"
    )
    params: dict[str, Name] = Field(
        min_length=1,
        description='a mapping from parameter name, in order, to "scalar TYPE", "in TYPE*", "out TYPE*" or '
        '"inout TYPE*", where TYPE may be an axis in braces, such as "in {dtype}*"; of launchers also '
        '"scratch TYPE*", "stream TYPE" and "device TYPE" (a number that tells of the device)',
    )
    moved: list[Name] = Field(
        default=[],
        description="a list of parameters whose elements the kernels move and compute nothing with: a port may declare "
        "them with any type of the same width",
    )
    tolerance: list[ToleranceRule] = Field(
        min_length=1, description="a list of rules with the keys when, ulp, library_ulp and source"
    )
    bench: list[Workload] = Field(default=[], description="a list of mappings with large, small and when")
    notes: list[Remark] = Field(default=[], description="a list of mappings with text and when")
    undefined: list[UndefinedInput] = Field(default=[], description="a list of mappings with input, reason and when")
    known_failures: list[Remark] = Field(
        default=[], description="a list of mappings with text and when: kernels known to fail, and why"
    )


class Family(Stanza):
    """A stanza: kernels of one family that share a name template and a parameter list."""

    entry: Literal["kernel", "launcher", "library"] = Field(
        default="kernel",
        description="kernel: loaded by name; launcher: a linked host function; library: one of cuBLAS or its like",
    )
    source: Text | None = Field(
        default=None,
        description="the upstream file of the stanza, where it is not the spec's: with an axis in braces if need be",
    )
    wired_at: list[Remark] = Field(
        default=[],
        description="of launchers, a list of mappings with text and when: FILE:LINE where Candle's Rust calls them",
    )
    row: KernelRow | None = Field(default=None, description="a mapping with the keys axis and lines")
    table: KernelTable | None = Field(default=None, description="a mapping with the keys rows, columns and lines")
    upstream_defects: list[UpstreamDefect] = Field(
        default=[], description="a list of mappings with text, when and cases: what upstream gets wrong"
    )


class OwnFamily(Stanza):
    """A stanza of kernels, or launchers, that a port has and Candle has not: one for each combination of the values of
    its axes."""

    entry: Literal["kernel", "launcher"] = Field(
        default="kernel",
        description='kernel: a __global__ function, loaded by its name; launcher: an extern "C" host function that '
        "launches kernels itself",
    )
    axes: dict[Axis, Annotated[list[Name], Field(min_length=1)]] = Field(
        default={},
        description="a mapping from an axis to the list of its values, such as {dtype: [f32, f16]}: a kernel for each "
        "combination; without axes, one kernel",
    )

    @property
    def own_entry(self) -> Entry:
        """What its kernels are among all entries of the specs."""
        return "own_launcher" if self.entry == "launcher" else "own"


class SpecFile(Strict):
    """One file of ``specs/``: one Candle module."""

    module: Text = Field(description="the module's name, that of the file")
    title: Text = Field(description="what the module's kernels do, in a few words")
    source: Text = Field(description="the file in candle-kernels/src that defines them, such as unary.cu")
    source_lines: Line = Field(description="the number of lines of that file")
    families: list[Family] = Field(min_length=1, description="a list of family stanzas")


class OwnSpecFile(Strict):
    """One file of a port's own specs: kernels with a reference module of the same name."""

    module: Text = Field(description="the module's name, that of the file and of the reference module")
    title: Text = Field(description="what the module's kernels do, in a few words")
    families: list[OwnFamily] = Field(min_length=1, description="a list of family stanzas")


Expression = Annotated[str | int, Field(union_mode="left_to_right")]
Sizes = Annotated[list[Expression], Field(max_length=8)]


class FamilyParameter(Strict):
    """What one parameter of the kernels of a family gets."""

    role: Literal["size", "scalar", "info", "input", "indices", "output", "inout", "scratch", "stream"] = Field(
        description="size: an integer expression over the case; scalar: a number with values to try; info: dims and "
        "strides of operands; input: numbers; indices: integers below a bound; output: what the kernel writes; inout: "
        "numbers that it reads and writes over; of launchers also scratch: memory whose content afterwards is "
        "anybody's; stream: the stream that it puts its work on"
    )
    value: Expression | None = Field(
        default=None, description="of a size, an expression such as rows * cols, numel or rank"
    )
    values: Annotated[list[Expression], Field(min_length=1)] | None = Field(
        default=None, description='of a scalar, a list of numbers to try, such as ["1e-5", "0"]; the first is the usual'
    )
    shape: Sizes | None = Field(
        default=None,
        description="of input, indices, output, inout and scratch, a list of expressions such as [rows, cols]; without "
        "it the case's shape",
    )
    of: list[Name] | None = Field(
        default=None, description="of info, the list of inputs whose strides stand behind the dims, in order"
    )
    below: Expression | None = Field(
        default=None, description="of indices, an expression for the bound, such as rows: they are 0 or more, and less"
    )


class FamilyFile(Strict):
    """A launch family of a port's own: how cases become argument lists and launches."""

    family: Text = Field(description="the launch family's name, that of the file; specs name it with `launch:`")
    title: Text = Field(description="what such kernels do, in a few words")
    dims: list[Name] = Field(
        default=[],
        description="a list of names for the sizes of the case's shape, such as [rows, cols]; any rank if empty",
    )
    numbers: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        default={}, description="a mapping from further integer fields of cases to their usual values, such as {n: 7}"
    )
    params: dict[Name, FamilyParameter] = Field(
        min_length=1, description="a mapping from each parameter of the kernels to a mapping with its role"
    )
    grid: Annotated[list[Expression], Field(min_length=1, max_length=3)] | None = Field(
        default=None,
        description="a list of one to three expressions, x, y and z, such as [ceildiv(numel, 256)]; launchers choose "
        "it themselves, and their families have none",
    )
    block: Annotated[list[Expression], Field(min_length=1, max_length=3)] | None = Field(
        default=None,
        description="a list of one to three expressions, x, y and z, such as [256]; families of launchers have none",
    )
    shared: Expression = Field(
        default=0, description="an expression for the bytes of dynamic shared memory, such as block_x * 4"
    )
    cases: Annotated[list[Text], Field(min_length=1)] = Field(
        description="a list of cases, the text between a case id's brackets, such as shape=[3,40],values=unit"
    )


class DTypeRow(Strict):
    """A dtype of a port's own kernels."""

    numpy: Name = Field(
        description="the type's name in numpy or ml_dtypes, such as float8_e5m2, float8_e4m3fnuz, int8 or uint16"
    )
    c: list[Text] = Field(
        default=[],
        description="a list of what the port's sources call it, such as [__hip_fp8_e5m2]; C's names of integers, and "
        "uint8_t for floats of 8 bits, need not be in it",
    )
    saturates: bool = Field(
        default=False, description="true where a scalar that is too large becomes the largest value, not infinity"
    )


class DTypeFile(Strict):
    """The dtypes that a port's own kernels have besides Candle's."""

    dtypes: dict[Name, DTypeRow] = Field(
        min_length=1, description="a mapping from each dtype's name in specs to a mapping with its numpy and c"
    )
