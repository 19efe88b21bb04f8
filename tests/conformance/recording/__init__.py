"""Programs that ask a kube-apiserver what the embedded cluster's tests are held against, and keep
its answers beside those tests.
"""
