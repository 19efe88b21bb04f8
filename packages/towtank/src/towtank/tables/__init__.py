"""Server-side printing: lists and objects as Tables, which is how ``kubectl get`` asks for them,
and as metadata alone.
"""
