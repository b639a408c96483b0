"""Recorded launches with the answers that Candle's own kernels gave."""

from conformance.replay.traces import TraceError, Traces
