"""Faults that the operator once had, each as a program that shows whether it is there: ``python -m
tests.faults.NAME``.

Each starts what it needs on loopback, prints one line of figures, and ends with 0 when the fault is
gone, 1 when it is there, 2 when it could not be tried. Most run the operator as a process, on the
embedded cluster or a kube-apiserver; some in virtual time.
"""
