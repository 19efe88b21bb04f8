"""Schemas: what is told apart by them, held against what a kube-apiserver said."""
