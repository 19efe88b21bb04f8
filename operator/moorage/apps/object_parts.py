"""Parts of objects as people write them, each with the path at which it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from moorage.apps.worlds.manifests import ManifestError


class ObjectPart(NamedTuple):
    """An object in an object. What it is asked for and lacks raises ManifestError, which names the
    path.
    """

    body: Mapping[str, Any]
    path: str = ""

    def at(self, field: str) -> str:
        """The field's path, as in ``spec.replicas``."""
        return f"{self.path}.{field}" if self.path else field

    def object(self, field: str) -> ObjectPart:
        """An object that has to be there."""
        value = self.body.get(field)
        if not isinstance(value, dict):
            raise ManifestError(f"{self.at(field)}: Required value")
        return ObjectPart(value, self.at(field))

    def object_if_any(self, field: str) -> ObjectPart:
        """An object, which is empty where there is none."""
        value = self.body.get(field)
        if value is not None and not isinstance(value, dict):
            raise ManifestError(f"{self.at(field)}: must be an object")
        return ObjectPart(value or {}, self.at(field))

    def objects(self, field: str) -> list[ObjectPart]:
        """A list of objects that has to be there."""
        values = self.body.get(field)
        if not isinstance(values, list) or not values:
            raise ManifestError(f"{self.at(field)}: Required value")
        for i, value in enumerate(values):
            if not isinstance(value, dict):
                raise ManifestError(f"{self.at(field)}[{i}]: must be an object")
        return [ObjectPart(value, f"{self.at(field)}[{i}]") for i, value in enumerate(values)]

    def text(self, field: str) -> str:
        """A text that has to be there."""
        value = self.body.get(field)
        if not isinstance(value, str) or not value:
            raise ManifestError(f"{self.at(field)}: Required value")
        return value

    def number(self, field: str) -> int:
        """A number of things, 1 where none is written."""
        value = self.body.get(field)
        found = 1 if value is None else value
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise ManifestError(f"{self.at(field)}: {found!r}: must be a whole number, 0 or more")
        return found
