"""VolumeBinding: volumes for the claims of a pod, there already or to be made."""
