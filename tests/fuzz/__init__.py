"""Cases and files that nobody thought of: kernels and parsers under hypothesis."""
