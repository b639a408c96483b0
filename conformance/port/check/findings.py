"""What a static check can find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ERROR_KINDS: Mapping[str, str] = {
    "missing": "no source defines it",
    "missing_dtype": "defined for other dtypes of the same operation only",
    "misnamed": "a kernel with the parameters of a missing one, under a name close to it",
    "extra": "no kernel of the specs",
    "unmatched_alias": "a line of [names] in candle-parity.toml that matches no kernel of the port",
    "excluded": "a kernel that the port has, though candle-parity.toml says that it does not",
    "extern_c": 'extern "C" is missing, so that nobody can ask for the name',
    "parameter_count": "more or fewer parameters",
    "parameter_order": "the right parameters in another order",
    "parameter_type": "a parameter of another type",
    "pointee_type": "a pointer to another type",
    "arguments": "arguments of a code object at other places or of other sizes",
    "adapter": "other parameters than the port declares for the kernel",
    "block_limit": "smaller blocks than the kernel is launched with",
    "unreadable": "a source that cannot be preprocessed or parsed",
    "compile_error": "a source, or a kernel of one, that does not compile for a target",
}
"""Findings that a port at parity has none of."""

OF_THE_WHOLE = ("missing", "missing_dtype", "extra")
"""Kinds that a port of some of the kernels, or of others too, has; ``check --partial`` leaves them out."""

WARNING_KINDS: Mapping[str, str] = {
    "duplicate": "defined more than once",
    "unknown_type": "a type of the port's own whose meaning the source alone does not tell",
    "spills": "registers spilled to memory",
    "zero_sign": "a product that the machine code rounds to f16 without the sign of zero",
    "lds": "more shared memory than the target has",
}


@dataclass(frozen=True)
class CheckFinding:
    """One finding of a kind listed above.

    ``kernel`` is the name that it is about: as the source spells it for something that is defined, as the specs do
    otherwise; empty for a whole file. ``place`` is ``FILE:LINE`` or ``FILE``. ``intended`` is the name that was
    probably meant, and ``target`` the AMD target, for a finding in a code object.
    """

    kind: str
    kernel: str
    message: str
    place: str | None = None
    intended: str | None = None
    target: str | None = None

    @property
    def is_warning(self) -> bool:
        """Whether the finding does not affect the exit code."""
        return self.kind in WARNING_KINDS
