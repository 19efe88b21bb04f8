"""Named mutants: each takes one mechanism out of the operator, and the tests beside it must fail
then.

``python -m tests.mutants [NAME ...]`` runs them, all or those whose names contain a word given.
``table.py`` has them.
"""
