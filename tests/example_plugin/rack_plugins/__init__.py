"""Plugins for clusters whose nodes stand in racks: the example of docs/writing-plugins.md."""

from collections.abc import Sequence

from moorage.plugin_api import PluginRegistration, PluginSpec
from rack_plugins.rack_maintenance import RackMaintenance
from rack_plugins.same_rack import SameRack, SameRackArgs


def plugins() -> Sequence[PluginRegistration]:
    """What the operator asks for when its configuration names this package."""
    return (
        PluginRegistration(PluginSpec(RackMaintenance.name, RackMaintenance)),
        PluginRegistration(PluginSpec(SameRack.name, SameRack, SameRackArgs)),
    )
