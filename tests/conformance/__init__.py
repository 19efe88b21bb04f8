"""Is the embedded cluster like Kubernetes? The same conversations with both, compared answer by
answer.

    python -m tests.conformance [CONVERSATION ...]

prints what differs and is not known (`differences.yaml`). `catalogue/*.yaml` says what is asked:
each conversation is a list of steps in a namespace of its own. A step is a request, a call of
kubectl, or a watch whose events a later step collects.
"""
