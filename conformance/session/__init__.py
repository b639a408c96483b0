"""What the command line and pytest share: from what a user asked for to a run, and from its record to the exit code.

``setup`` turns options and the port's declaration into the tree and the ``Setup`` of every process. ``selection`` turns
patterns into kernels and cases. ``outputs`` refuses an output that would overwrite what is read. ``gate`` decides.
Neither the command line nor pytest is known here::

    asked = prepare(settings, patterns)
    result = run(asked.setup, asked.mode, asked.kernels, asked.cases)
    record = assemble(asked.specs, result, patterns)
    code = conclude(gating_from(gate, asked.config), record, record.rows, asked.specs)

Patterns are kernel globs, case ids, and patterns over cases:

    >>> from conformance.session.selection import select
    >>> from conformance.spec.load import load_specs
    >>> kernels, cases = select(load_specs(), ["fill_u8", "uexp_f32(layout=transposed;shape=[3,5,7];*)"], ())
    >>> [kernel.name for kernel in kernels]
    ['fill_u8', 'uexp_f32']
    >>> cases
    {'uexp_f32': ('uexp_f32(shape=[3,5,7],layout=transposed,values=unit)',)}
"""
