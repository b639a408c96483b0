"""The causes that are recognised by their evidence: a row each, the more specific ones first.

``bug_class`` is the id in ``specs/bug-classes.md``. A failing case fits a row when all of the row's conditions hold for
it; a cause is named only where each failing case that is counted under it fits.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.outcome import Evidence
from conformance.report.causes.traits import NOT_CONTIGUOUS

_NAN = ("NaN for number", "number for NaN", "inf for NaN")
_ULP = ("1 ulp towards zero", "1 ulp away from zero")
_READS = ("read past the end", "wild address", "illegal address", "read before the start", "misaligned or wild address")
_WRITES = ("write past the end", "write before the start", "canary overwritten")
_PUT = ("index_add", "scatter", "scatter_add")
_INDEXED = ("index_select", "gather", *_PUT)
_ROWS = ("fast_reduce", "softmax", "rmsnorm", "layernorm")


@dataclass(frozen=True)
class Cause:
    """A cause and the evidence that it takes.

    Of a failing case: one of ``faults``; one of ``answers`` (a name that ends in a blank stands for all that begin so);
    no other ``elements`` than these, and one of ``has`` among them; one of ``traits``; a kernel of one of ``launches``
    and ``dtypes``. ``holds`` lists conditions on all cases of the kernel, by name. With ``part`` it may explain some of
    a kernel's failing cases and leave the rest to others. ``title`` and ``advice`` are what is printed.
    """

    id: str
    bug_class: str
    title: str
    advice: str
    faults: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    part: bool = False

    def fits(self, evidence: Evidence, traits: frozenset[str], launch: str, dtype: str) -> bool:
        """Whether a failing case is as this cause makes it."""
        return (
            (not self.launches or launch in self.launches)
            and (not self.dtypes or dtype in self.dtypes)
            and (evidence.fault in self.faults if self.faults else evidence.fault is None or not self._by_values)
            and (not self.answers or bool(self.matching(evidence)))
            and (not self.elements or (bool(evidence.elements) and set(evidence.elements) <= set(self.elements)))
            and (not self.has or not set(self.has).isdisjoint(evidence.elements))
            and (not self.traits or not traits.isdisjoint(self.traits))
        )

    @property
    def _by_values(self) -> bool:
        """Whether it is recognised by what the kernel has written; a fault may be by its answers or traits alone."""
        return bool(self.elements or self.has)

    def matching(self, evidence: Evidence) -> frozenset[str]:
        """Those of the evidence's answers that the row asks for."""
        return frozenset(filter(self._answers, evidence.answers))

    def _answers(self, name: str) -> bool:
        return any(name == known or (known.endswith(" ") and name.startswith(known)) for known in self.answers)


FIXES_UPSTREAM = "fixes-upstream"
"""The cause whose detail is a line of candle-parity.toml."""

# fmt: off
_FAULTS: tuple[Cause, ...] = (
    Cause(FIXES_UPSTREAM, "", "The port is right where Candle has a defect",
          "put this line into candle-parity.toml: the right result is judged then",
          answers=("right where upstream is wrong",), part=True),
    Cause("narrow-info", "L07", "The dims in info are read as 32-bit words: in such words the kernel is right",
          "info has 64-bit words: read it through size_t", answers=("right with info in 32-bit words",),
          holds=("most that are not contiguous",), part=True),
    Cause("unwritten-shared", "W06", "The answer depends on shared memory that nothing has written",
          "initialise all of it, and wait before it is read", answers=("unwritten shared memory",), part=True),
    Cause("unwritten-scratch", "", "The answer depends on an array of a thread that nothing has written",
          "initialise it before it is read", answers=("unwritten scratch memory",), part=True),
    Cause("unwritten-registers", "", "The answer depends on a variable or a register that nothing has written",
          "initialise the variable; in inline assembly write a register before it is read, and name it as an operand",
          answers=("unwritten registers",), part=True),
    Cause("impossible-geometry", "", "The launch geometry that the port declares is impossible",
          "correct the row of candle-parity.toml that the failure names",
          faults=("impossible geometry",), part=True),
    Cause("null-input", "S07", "A null input is dereferenced",
          "where inp is null the kernel works in place: read from out",
          faults=("null pointer",), traits=("a null input",), part=True),
    Cause("null-weights", "M05", "A null alpha or beta is dereferenced",
          "take 1 for a null alpha and 0 for a null beta",
          faults=("null pointer",), traits=("a null alpha or beta",), part=True),
    Cause("null-info", "S06", "A null info is dereferenced", "a null info means contiguous operands: test it first",
          faults=("null pointer",), traits=("a null info",), part=True),
    Cause("null", "S06", "A null pointer is dereferenced", "test the pointer that the message names",
          faults=("null pointer",), part=True),
    Cause("no-assert", "I09", "Ids outside of the dimension are not stopped",
          "Candle's kernels assert on them; without it memory of others is read or written",
          faults=("no fault",), part=True),
    Cause("sentinel-address", "I01", "The id that means none is used as an index",
          "test for the greatest value of the ids' type first: gather 0 there, else skip the element",
          faults=(*_READS, *_WRITES), traits=("ids that mean none",), launches=_INDEXED,
          holds=("not without the trait", "spreads to the trait"), part=True),
    Cause("sentinel-element", "I01", "The id that means none is used as an index: it writes before the output",
          "test for the greatest value of the ids' type first, and skip the element",
          elements=("before the start",), traits=("ids that mean none",), launches=_PUT,
          holds=("spreads to the trait",), part=True),
    Cause("stream", "", "A launcher puts work on another stream than the one that it is given",
          "pass that stream to every call; another has to wait for it by an event, and it for the other",
          faults=("another stream",), part=True),
    Cause("pending-error", "", "A launcher returns with an error pending",
          "look at the result of each call, and for a launch that the device refuses",
          faults=("pending error",), part=True),
    Cause("freed-argument", "", "A launcher frees what it was given", "its arguments are the caller's to free",
          faults=("freed argument",), part=True),
    Cause("freed-twice", "", "A launcher frees what is not allocated", "free each allocation once",
          faults=("freed twice",), part=True),
    Cause("host-access", "", "Host code of a launcher accesses memory of the device",
          "do it in a kernel, or copy to or from the host on the launcher's stream",
          faults=("device memory on the host",), part=True),
    Cause("host-pointer", "", "A kernel is given memory of the host", "copy it to the device, or pass it by value",
          faults=("host memory in a kernel",), part=True),
    Cause("outside-scratch", "", "A launcher writes outside of its scratch",
          "use no more of it than Candle's Rust side allocates", faults=("outside of scratch",), part=True),
    Cause("divergence", "W09", "Threads of a block do not meet at the same barriers",
          "no return or branch before __syncthreads() that only some threads of the block take",
          faults=("barrier divergence",), part=True),
    Cause("lanes", "W02", "Lanes are missing from a wave operation",
          "the mask has to name the lanes that call it: 64 bits wide for waves of 64",
          faults=("lanes missing",), part=True),
    Cause("missing-wait", "", "A register is used before the load into it has arrived",
          "put the s_waitcnt that the message names behind the load, into the same assembly",
          faults=("missing wait",), part=True),
    Cause("hazard", "", "An instruction comes too soon after another, on whose result hardware does not wait",
          "put the wait states that the message asks for between the two: s_nop, in the same assembly",
          faults=("hazard",), part=True),
    Cause("shared-memory", "W11", "Shared memory is accessed outside of what the block has",
          "size the arrays, and the dynamic bytes that Candle passes, by the block",
          faults=("outside of shared memory",), part=True),
    Cause("local-array", "W11", "An array is indexed outside of its bounds",
          "check the index at the line of the message",
          faults=("outside of an array",), part=True),
    Cause("arguments", "L07", "The kernel's arguments are read at an offset that they do not have",
          "each argument is aligned to its size, as in a struct; hidden arguments come behind them",
          faults=("outside of the arguments",), part=True),
    Cause("trap", "", "The kernel stops itself: a trap, unreachable code, or an array's bound that is known",
          "look for __builtin_trap, a missing return; HIP's header traps masks of absent lanes, gfx942's OCP fp8",
          faults=("trap",), part=True),
    Cause("stack", "", "A thread needs more stack than it has", "no large local arrays and no recursion",
          faults=("stack overflow",), part=True),
    Cause("assertion", "I09", "An assertion of the kernel fails in launches that are right",
          "check what it asserts against Candle's own", faults=("assertion",), part=True),
    Cause("info-words", "L07", "The dims in info are read as 32-bit words: every other one is 0, and divided by",
          "info has 64-bit words: read it through size_t",
          faults=("integer division",), answers=("info in 32-bit words",),
          holds=("not only broadcast", "no such fault else"), part=True),
    Cause("division", "N17", "An integer is divided by zero, or the least one by -1",
          "check the divisor, or where the operands are read from", faults=("integer division",), part=True),
    Cause("endless", "W09", "The kernel does not end", "look for a loop whose step or bound a launch makes 0",
          faults=("no end",), part=True),
    Cause("launch-refused", "W13", "The launch is refused",
          "launch bounds and shared memory have to allow the block that Candle launches",
          faults=("launch refused",), part=True),
    Cause("forbidden", "", "The kernel makes a system call", "a kernel computes and does nothing else",
          faults=("forbidden call",), part=True),
)

_LAYOUTS: tuple[Cause, ...] = (
    Cause("strides-ignored", "S01", "Strides are ignored: memory order instead of the operand's order",
          "compute the element's offset from the dims and strides in info unless they are contiguous",
          answers=("input order",), holds=("all that are not contiguous",), part=True),
    Cause("broadcast", "S03", "Strides of 0 are not honoured: broadcast operands are read in memory order",
          "a stride of 0 repeats an element", answers=("input order",), traits=("a broadcast operand",), part=True),
    Cause("contiguity", "S04", "The test for contiguous operands is too loose: some are read in memory order",
          "compare every stride with the product of the sizes behind it", answers=("input order",), part=True),
    Cause("one-stride-set", "S02", "All operands are read with the strides of one",
          "each operand has a set of strides of its own in the info array", answers=("strides of ",),
          holds=("one answer",), part=True),
    Cause("one-operand", "S02", "The strides of one operand are ignored",
          "each operand has a set of strides of its own in the info array",
          answers=("lhs in input order", "rhs in input order", "ids in input order", "t in input order",
                   "f in input order", "src in input order", "kernel in input order"),
          holds=("one answer",), part=True),
    Cause("strided-fault", "S01", "Strided operands are accessed outside of their buffer",
          "check how the offset is computed from the dims and strides in info",
          faults=(*_READS, *_WRITES), traits=(NOT_CONTIGUOUS,), holds=("not without the trait",), part=True),
    Cause("misaligned", "L08", "Launches from an odd start offset fault",
          "vector accesses need aligned addresses: handle the first elements one by one",
          faults=(*_READS, *_WRITES), traits=("a start offset",), holds=("not without the trait",), part=True),
    Cause("write-outside", "S10", "The kernel writes outside of a buffer",
          "check the guard of the last block: i < numel",
          faults=_WRITES, part=True),
    Cause("read-outside", "S11", "The kernel reads outside of a buffer", "check the guard and the offset of each read",
          faults=_READS, part=True),
    Cause("overrun", "S10", "Elements behind the last one are written", "check the guard of the last block: i < numel",
          elements=("overwritten",), part=True),
    Cause("input-written", "", "An input is overwritten", "inputs stay as they are", elements=("input overwritten",),
          part=True),
    Cause("before-start", "L09", "Elements before the start of the output are written",
          "the pointer points at the first element: add no offset", elements=("before the start",), part=True),
    Cause("race", "W06", "The answer depends on the order in which threads run",
          "look for a missing barrier between write and read, and for updates that are not atomic",
          answers=("right in another thread order",), holds=("spreads",), part=True),
    Cause("no-grid-stride", "L10", "Only as many elements as there are threads are written: no grid-stride loop",
          "go on with i += blockDim.x * gridDim.x", elements=("unwritten",),
          answers=("from the number of threads on",), part=True),
    Cause("narrow-index", "S09", "Everything from an element on is wrong that an index of 16 bits cannot reach",
          "index with size_t or 32 bits", answers=("from element 65536 on", "from element 32768 on"), part=True),
    Cause("tail", "S10", "The last elements are not written: the rest behind the last whole pack",
          "handle numel % pack elements one by one", elements=("unwritten",), answers=("last elements",),
          holds=("not always all",)),
    Cause("nothing-written", "L05", "Nothing is written", "compare the parameters' order with Candle's",
          elements=("unwritten",), answers=("all elements",)),
)

_PARAMETERS: tuple[Cause, ...] = (
    Cause("dilation", "C02", "The dilation is ignored", "multiply the tap's offset by it",
          answers=("dilation ignored",), part=True),
    Cause("padding", "C03", "The padding is ignored", "subtract it from the position, and skip what lies outside",
          answers=("padding ignored", "out_padding ignored"), part=True),
    Cause("stride", "C06", "The stride is ignored", "multiply the output's position by it",
          answers=("stride ignored",), part=True),
    Cause("weights-ignored", "M05", "alpha or beta is ignored", "scale by alpha and add beta where they are not null",
          answers=("alpha ignored", "beta ignored"), part=True),
    Cause("eps", "M03", "eps is ignored", "add it under the root", answers=("eps ignored",), part=True),
    Cause("height-width", "C04", "Height and width are swapped", "Candle passes the width's parameter where it says w_",
          answers=("h_k with w_k ", "h_stride with w_stride ", "h_out with w_out ", "h_scale with w_scale ",
                   "scale_h_factor with scale_w_factor "), part=True),
    Cause("swapped", "L02", "Two parameters or operands are swapped", "compare the order with Candle's parameters",
          answers=("mul with add ", "cos with sin ", "alpha with beta ", "t with f ", "lhs with rhs ",
                   "src_s with dst_s ")),
    Cause("neighbour", "", "Each wrong element has its neighbour's value: an index is off by one",
          "check the first index and the step", answers=("value of the next element", "value of the element before"),
          holds=("several cases",), part=True),
)

_NUMBERS: tuple[Cause, ...] = (
    Cause("truncates", "F01", "The conversion cuts off what does not fit instead of rounding it",
          "round to nearest, ties to even, and keep NaN a NaN", answers=("truncated",), launches=("cast",)),
    Cause("double-rounding", "R10", "The conversion goes through float: it rounds twice",
          "round once, from the source's own value; a 32-bit integer is exact in double",
          answers=("rounded to float first",), launches=("cast",)),
    Cause("ties", "F01", "Numbers halfway between two are rounded otherwise than to even",
          "round to nearest, ties to even", answers=("halfway between",), launches=("cast",)),
    Cause("float-to-integer", "N15", "NaN and floats beyond the integer's range are converted otherwise",
          "a plain cast leaves these to the compiler: hold them at the ends of the range, as Candle's does",
          answers=("source out of range",), launches=("cast",)),
    Cause("not-fused", "N14", "Product and sum are rounded each; Candle's compiler fuses them",
          "use fma, or compute in float and round once", answers=("product and sum rounded each",)),
    Cause("fp8-format", "F03", "Bytes are read as the other 8-bit format: every value is off by a factor of 2",
          "OCP's E4M3, not FNUZ", answers=("factor 2", "factor 0.5"), dtypes=("f8e4m3",),
          holds=("one answer", "several cases")),
    Cause("fp8-nan", "F04", "NaN of 8-bit floats is decoded as a number", "0x7f and 0xff are NaN",
          answers=("operand NaN",), elements=("number for NaN",), dtypes=("f8e4m3",)),
    Cause("fp8-overflow", "F05", "What is too large for an 8-bit float is not held at 448", "saturate when storing",
          elements=("NaN for number", "number for limit"), dtypes=("f8e4m3",)),
    Cause("fp8-ends", "F05", "Infinity, or what is too small for an 8-bit float, is converted otherwise",
          "hold at 448, and take 0 up to 2^-10: HIP's header does neither where it converts in code",
          answers=("ends of 8-bit floats",)),
    Cause("comparison-nan", "N18", "Comparisons with NaN are answered otherwise",
          "all but != are false: !(a < b) is not a >= b, but HIP's >= and <= of __half are written so",
          answers=("operand NaN",), launches=("compare",)),
    Cause("nan-rows", "R03", "Rows with NaN are answered by another rule",
          "max and min of f16 and bf16 keep a NaN, those of other floats ignore it, wherever in the row it is",
          answers=("row with NaN",), launches=_ROWS),
    Cause("nan-rule", "N01", "NaN is answered by another rule",
          "max and min of f16 and bf16 keep a NaN, those of other floats take the number, as fmax does",
          answers=("NaN only from NaN",), elements=_NAN),
    Cause("nan-and-zero", "N01", "NaN, and zeros of two signs, are answered by another rule",
          "use fmax and fmin, of 16-bit floats __hmax_nan and __hmin_nan, not a comparison",
          answers=("NaN only from NaN", "operand NaN", "row with NaN"), holds=("both kinds",)),
    Cause("nan-operands", "N01", "Operands that are NaN are answered by another rule", "compare with Candle's formula",
          answers=("operand NaN",)),
    Cause("sign-of-zero", "N08", "The sign of zero is lost or wrong",
          "0 - x is not -x, x + 0 is not x; of +0 and -0 the maximum is +0, the minimum -0, in either order",
          elements=("sign of zero",)),
    Cause("flat-index", "", "The index is that in the whole tensor, not in the row",
          "subtract the row's first index: Candle stores idx % dims[num_dims - 1]",
          answers=("index over all rows",), launches=("fast_reduce",), part=True),
    Cause("empty-maximum", "R01", "Rows of infinities are answered otherwise: the search starts from a finite number",
          "start from -inf for a maximum and +inf for a minimum", answers=("row of infinities",), launches=_ROWS),
    Cause("start-value", "R02", "The extremum is not a value of the row: the search starts from another number",
          "start from the least value of the type for a maximum, the greatest for a minimum",
          answers=("no value of the row",), part=True),
    Cause("part-of-row", "W01", "The extremum is that of a part of the row: lanes are missing from the reduction",
          "reduce over all lanes of a wave (warpSize, 64 on CDNA), then over all waves of the block",
          answers=("another value of the row",), elements=("other", "close", "other sign", "zero for number",
          "number for zero"), launches=("fast_reduce",)),
    Cause("subnormals", "N13", "Subnormal numbers are flushed to zero", "compile without denormal flushing",
          elements=("zero for subnormal",)),
    Cause("subnormal-operands", "N13", "Operands that are subnormal are taken for zero",
          "compile without denormal flushing", answers=("operand subnormal",)),
    Cause("uninitialised-shared", "W06", "Shared memory is read that was never written",
          "initialise all of it, and wait before it is read", answers=("all bits set",), elements=("NaN for number",)),
    Cause("overflow", "R08", "Intermediate results overflow", "accumulate in Candle's accumulation type",
          elements=("inf for number", "NaN for number"), has=("inf for number",)),
    Cause("factor", "", "All wrong values are off by one factor", "look for a constant that is missing or doubled",
          answers=("factor ",), holds=("one answer", "several cases")),
    Cause("upper-lanes", "W01", "Only lanes 32 to 63 of each wave are wrong: the code is for waves of 32 lanes",
          "take warpSize for the size of a wave, and 64 bits for a ballot", answers=("lanes 32 to 63",)),
    Cause("other-lane", "W01", "Each wrong element has the value of another lane of its wave",
          "check lane numbers, DPP controls, ds_swizzle's masks; ds_bpermute counts in bytes",
          answers=("value of another lane",)),
    Cause("other-sign", "M06", "All wrong values have the other sign", "check the signs of the formula",
          elements=("other sign", "sign of zero"), has=("other sign",)),
    Cause("unwritten", "", "Elements are never written",
          "check the index that each thread writes to, and that all lanes are active where they store",
          elements=("unwritten",)),
    Cause("permuted", "R13", "The right values stand in another order", "check the comparison and the padding",
          answers=("other order",)),
    Cause("cut-results", "F01", "Results are cut off instead of rounded (1 ulp towards zero, always)",
          "round to nearest, ties to even", answers=("next float towards zero",), dtypes=("bf16", "f16", "f8e4m3"),
          holds=("several cases",)),
    Cause("one-rounding", "N11", "Results are off by 1 ulp: one rounding more or less, or an approximate operation",
          "compare the order of operations and their types with Candle's", elements=_ULP),
    Cause("few-ulp", "N11", "Results are off by a few ulp: other operations, order or intermediate type",
          "compare the order of operations and their types with Candle's", elements=(*_ULP, "few ulp")),
    Cause("single-precision", "R10", "Results in f64 have the precision of f32 only", "compute in double throughout",
          answers=("precision of f32",), dtypes=("f64",), part=True),
    Cause("cancellation", "N04",
          "Errors are small against the operand, not against the result: digits cancel or leave the range",
          "use the function that subtracts nothing: erfc for 1 + erf, expm1 for exp - 1",
          answers=("error small against the operand",)),
    Cause("short-constant", "N11", "Results in f64 have 9 to 13 digits: a constant is cut short",
          "write constants of double with 17 digits",
          answers=("fewer digits than f64", "error small against the operand"), dtypes=("f64",)),
    Cause("approximation", "N02", "Results are near, but of another formula (relative error up to 0.2%)",
          "compare the formula with Candle's: tanh for erf, native for exact functions",
          elements=(*_ULP, "few ulp", "close")),
)

_WHERE: tuple[tuple[str, str, str], ...] = (
    ("a null input", "S07", "Only launches with a null input are wrong"),
    ("a null alpha or beta", "M05", "Only launches with a null alpha or beta are wrong"),
    ("ids that mean none", "I01", "Only ids that mean none are answered wrong"),
    ("ids that occur twice", "I05", "Only ids that occur twice are answered wrong: their order is lost"),
    ("a dilation", "C02", "Only launches with a dilation are wrong"),
    ("padding", "C03", "Only launches with padding are wrong"),
    ("output padding", "C06", "Only launches with output padding are wrong"),
    ("a stride over 1", "C06", "Only launches with a stride over 1 are wrong"),
    ("a batch", "C01", "Only launches with more than one batch are wrong"),
    ("images or windows that are not square", "C04", "Only images or windows that are not square are wrong"),
    ("aligned corners", "C10", "Only launches with aligned corners are wrong"),
    ("a scale factor", "C10", "Only launches with a scale factor are wrong"),
    ("a broadcast operand", "S03", "Only broadcast operands are read wrong"),
    (NOT_CONTIGUOUS, "S01", "Only operands that are not contiguous are read wrong"),
    ("a grid smaller than the data", "L10", "Only launches with a grid smaller than the data are wrong"),
    ("another block size than Candle's", "W10", "Only launches with another block size than Candle's are wrong"),
    ("a start offset", "L08", "Only launches from a start offset are wrong"),
    ("NaN in rows", "R03", "Only rows with NaN are wrong"),
    ("rows of infinities", "R01", "Only rows of infinities are wrong"),
    ("rows of values far from 0", "R02", "Only rows without small values are wrong: the search starts from 0"),
    ("equal values", "R05", "Only rows of equal values are wrong"),
    ("several dimensions summed", "L05", "Only sums over several dimensions are wrong"),
    ("over 65,536 elements", "S09", "Only launches of over 65,536 elements are wrong"),
    ("rows of over 1,024", "R12", "Only rows of over 1,024 elements are wrong"),
    ("over 1,024 elements", "", "Only launches of over 1,024 elements are wrong"),
    ("subnormal values", "N13", "Only launches with subnormal values are wrong"),
)

# fmt: on
CAUSES: tuple[Cause, ...] = (
    *_FAULTS,
    *_LAYOUTS,
    *_PARAMETERS,
    *_NUMBERS,
    *(
        Cause(
            f"only {trait}",
            bug_class,
            title,
            "compare the code for this with Candle's",
            traits=(trait,),
            holds=("all with the trait", "all that fail"),
        )
        for trait, bug_class, title in _WHERE
    ),
)
