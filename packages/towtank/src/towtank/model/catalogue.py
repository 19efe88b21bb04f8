"""The catalogue: which resources are served at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from towtank.model.kinds import APIResource


class Catalogue:
    """Resources by their place in a path. Built-in ones stay; custom ones come and go with their
    definitions.
    """

    def __init__(self, resources: Iterable[APIResource]) -> None:
        self._resources = {_place(resource): resource for resource in resources}

    def __iter__(self) -> Iterator[APIResource]:
        """All, groups together, in the order in which they came."""
        return iter(self._resources.values())

    def find(self, group: str, version: str, plural: str) -> APIResource | None:
        """The resource at /apis/GROUP/VERSION/PLURAL, or /api/VERSION/PLURAL for the group ""."""
        return self._resources.get((group, version, plural))

    def built_in(self, group: str) -> bool:
        """Whether this is a group of built-in kinds."""
        return any(resource.group == group and not resource.custom for resource in self)

    def of_kind(self, api_version: str, kind: str) -> APIResource | None:
        """The resource whose objects say that of themselves."""
        return next(
            (
                r
                for r in self._resources.values()
                if r.kind == kind and r.api_version == api_version
            ),
            None,
        )

    def replace(self, group: str, plural: str, resources: Iterable[APIResource]) -> None:
        """Serve these versions of a custom resource and no others."""
        for place in [
            place for place in self._resources if (place[0], place[2]) == (group, plural)
        ]:
            del self._resources[place]
        self._resources.update((_place(resource), resource) for resource in resources)


def _place(resource: APIResource) -> tuple[str, str, str]:
    return resource.group, resource.version, resource.plural
