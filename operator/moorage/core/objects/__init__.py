"""The Kubernetes objects that we read, as structs: only the fields that decide a placement."""
