"""What kube-scheduler has long dropped: Policy and the old versions of its configuration. Nothing
else knows it.
"""
