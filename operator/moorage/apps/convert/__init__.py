"""`moorage convert`: configurations of kube-scheduler, of any age, to our custom resources."""
