"""What a kernel left in its buffers, against what the reference expects: from a case to a kernel's outcome.

Nothing is launched here: whoever has the answers hands them over. A case of a kernel with its launch and what is
expected is a ``TrialCase``, and ``Judging`` says what is wrong with an answer.

    >>> from conformance.cases.case import Case
    >>> from conformance.spec.load import load_specs
    >>> from conformance.verdict.judge import Judging
    >>> from conformance.verdict.trials import generated
    >>> kernel = load_specs().kernels["fill_u8"]
    >>> (trial,) = generated(kernel, [Case.parse("fill_u8(shape=[4],value=pattern)")], "")
    >>> judging = Judging(kernel)
    >>> judging.begin(trial)
    >>> answer = trial.expected["buf"].value.copy()
    >>> judging.take(trial, {"buf": answer}) is None
    True
    >>> answer[2] += 1
    >>> judging.take(trial, {"buf": answer}).why
    'buf[2] must be equal; 1 of 13 elements wrong'

``run_cases`` (``conformance.verdict.loop``) does this for every case in every thread order and gives the ``Outcome``.
"""
