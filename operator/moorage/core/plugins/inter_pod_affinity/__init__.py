"""InterPodAffinity: pods that want to be, or not to be, in one topology domain with others."""
