"""The families of Candle's reduce module, each in a file of its own."""

from __future__ import annotations

from reference.atomic_sum import sum
from reference.fast_reduce import equivalent, fast_reduce
from reference.norms import layernorm, rmsnorm
from reference.rope import rope, rope_i, rope_thd
from reference.softmax import softmax

__all__ = ["equivalent", "fast_reduce", "layernorm", "rmsnorm", "rope", "rope_i", "rope_thd", "softmax", "sum"]
