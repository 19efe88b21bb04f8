"""DynamicResources: devices for the resource claims of a pod (KEP-4381)."""
