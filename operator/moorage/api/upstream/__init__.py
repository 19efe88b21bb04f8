"""What kube-scheduler is configured with: read as it reads it, and turned into SchedulerProfiles.

``reading`` judges a KubeSchedulerConfiguration as kube-scheduler 1.36 does and says what it comes to; ``older`` turns former versions
into v1; ``translating`` makes profiles of a configuration, ``policies`` of a legacy Policy. Nothing here is used while pods are placed.
"""
