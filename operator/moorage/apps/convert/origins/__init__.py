"""Origins: what users of managed and batch schedulers have in kube-scheduler's place."""
