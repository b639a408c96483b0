"""Which kernels C++ sources define, found through a real preprocessor: names, places, parameters. Nothing is compiled.

No CUDA, ROCm or C++ library is needed: headers that are not in the tree are taken as empty, so that types stay as the
source spells them.
"""
