"""What Kubernetes' own code does for built-in kinds: one module for each family of them.
``kind_registry`` has the table.
"""
