"""affine: ``out = x * mul + add``. Floats round once (fused), integers wrap, float8 is computed in float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.arithmetic import ARITHMETIC
from reference.exact import rounded_once
from reference.expected import Expected
from reference.result import contiguous
from reference.strided import one_operand

Array = NDArray[Any]


@np.errstate(all="ignore")
def affine(
    variant: Mapping[str, str],
    library_ulp: int,
    *,
    numel: int,
    num_dims: int,
    info: Array | None,
    inp: Array | None,
    out: Array,
    mul: Any,
    add: Any,
) -> dict[str, Expected]:
    """``inp`` null: in place, ``out`` is read and the layout ignored. ``mul`` and ``add`` are scalars of the dtype."""
    x = one_operand(numel, num_dims, info, inp, out)
    factor, term = (np.asarray(scalar, dtype=out.dtype).reshape(1) for scalar in (mul, add))
    if variant["dtype"] in ARITHMETIC:
        a = ARITHMETIC[variant["dtype"]]
        value = a.store(a.fma(a.load(x), a.load(factor), a.load(term)))
        if a.carrier.itemsize > a.storage.itemsize == 1:  # rounded to float32 and then to the type
            exact = rounded_once(variant["dtype"], lambda w: [w.fma(w.load(x), w.load(factor), w.load(term))])
            return {"out": contiguous(out, value, exact=exact)}
    else:
        value = x * factor + term
    return {"out": contiguous(out, value)}
