"""Which kernels C++ sources define, found through a real preprocessor: names, places, parameters. Nothing is compiled.

``scan.defined_kernels`` reads one file, ``scan.scan`` several at a time. Neither needs CUDA, ROCm or a C++ library:
headers that are not in the tree are taken as empty, so that types stay as the source spells them.
"""
