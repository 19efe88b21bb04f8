"""What Kubernetes' own code does for built-in kinds: one module for each family of them. ``builtins`` has the table."""
