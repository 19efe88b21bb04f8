"""What Kubernetes' own code does for built-in kinds: one module for each family of them. ``built_in`` has the table."""
