"""DefaultPreemption: which pods to evict so that another one fits."""
