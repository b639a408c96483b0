"""What a tree under trial is: its sources, the options and compilers that they go through, what they define, and how
that compares with the specs. Nothing of a port is executed here.

For example, the parameters of a kernel as its source declares them, against those of the spec:

    >>> from conformance.port.definitions.scan import Param
    >>> from conformance.port.signature import difference, written
    >>> from conformance.spec.load import load_specs
    >>> declared = [Param("float *", "buf"), Param("double", "value"), Param("size_t", "numel")]
    >>> difference(load_specs().kernels["fill_f32"], written(declared))
    "parameter 2 is double value, Candle's is f32 value"
"""
