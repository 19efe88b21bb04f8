"""The strategy of Namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubefacts import names
from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause, forbidden
from towtank.model.kinds import Body, Strategy

INITIAL: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_LASTING: Final = ("default", "kube-public", "kube-system")
_FINALIZER: Final = "kubernetes"
_GOING: Final = "Terminating"
_LABEL: Final = "kubernetes.io/metadata.name"


class NamespaceStrategy(Strategy):
    """A namespace that is deleted waits until somebody has removed what is in it, and says so by
    spec.finalizers.
    """

    selectable = object_selectors.field_readers("status.phase")

    def name(self, name: str) -> Sequence[str]:
        """A part of host names."""
        return names.dns_label(name)

    def default(self, body: Body) -> None:
        """A namespace is known by a label too."""
        body.setdefault("spec", {})
        metadata = body["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), _LABEL: metadata["name"]}

    def prepare_create(self, body: Body) -> None:
        """Its content is to be removed first, when it is deleted."""
        self.default(body)  # now that a generated name is known
        finalizers = body["spec"].get("finalizers") or []
        body["spec"]["finalizers"] = (
            finalizers if _FINALIZER in finalizers else [*finalizers, _FINALIZER]
        )
        body["status"] = {"phase": "Active"}

    def prepare_update(self, new: Body, old: Body) -> None:
        """Finalizers change through the finalize subresource."""
        new["spec"] = old["spec"]

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """It is going when it is deleted, and only then."""
        if (
            "deletionTimestamp" in new["metadata"]
            or (new.get("status") or {}).get("phase") != _GOING
        ):
            return ()
        return (
            StatusCause.invalid(
                "status.Phase", _GOING, "may only be 'Active' if `deletionTimestamp` is empty"
            ),
        )

    def held(self, body: Body) -> bool:
        """Until nothing is in it."""
        return super().held(body) or bool((body.get("spec") or {}).get("finalizers"))

    def prepare_delete(self, body: Body) -> None:
        """It takes no more objects. Raises ApiError for those that every cluster has."""
        name = body["metadata"]["name"]
        if name in _LASTING:
            raise forbidden("namespaces", "", name, "this namespace may not be deleted")
        body["status"] = {**(body.get("status") or {}), "phase": _GOING}
        # there is nobody who stops it within a time
        del body["metadata"]["deletionGracePeriodSeconds"]


class NamespaceFinalizeStrategy(NamespaceStrategy):
    """Namespaces under the finalize subresource: who has removed their content takes the finalizer
    away.
    """

    def prepare_update(self, new: Body, old: Body) -> None:
        """Nothing else of the spec is there."""
        if not new["spec"].get("finalizers"):
            new["spec"] = {}
