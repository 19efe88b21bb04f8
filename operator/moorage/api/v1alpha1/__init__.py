"""The custom resources of ``moorage.dev/v1alpha1``, one module per kind.

The models are the only place where a field is described: crds/ is generated from them
(``api.crd_files``), and objects are decoded by them. Descriptions are the docstrings. What a CRD
says and Python types don't (list types, CEL rules) stands beside the field.
"""
