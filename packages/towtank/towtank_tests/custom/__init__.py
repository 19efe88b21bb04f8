"""Definitions of custom resources and their rules, with what a kube-apiserver said of each."""
