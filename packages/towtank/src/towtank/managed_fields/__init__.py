"""Who owns which fields: metadata.managedFields, and server-side apply, which rests on it.

``server_side_apply`` applies, ``updates`` tracks plain writes. ``field_sets`` computes with sets of
fields, ``schema_walk`` reads them off values, ``merge`` merges and prunes bodies,
``apply_validation`` refuses what cannot be applied, ``managers`` keeps the entries. Facts from
Kubernetes' structured-merge-diff and apimachinery/managedfields.
"""

from towtank.managed_fields.managers import ManagedFieldsEntry
from towtank.managed_fields.server_side_apply import apply
from towtank.managed_fields.updates import same, track

__all__ = ["ManagedFieldsEntry", "apply", "same", "track"]
