"""Adapters implement the ports with real libraries, about one library each.

Built by apps and handed to the engine, which never imports them. An adapter translates errors to
those of ports at its edge. It knows neither the engine nor another adapter, and never Kopf.
"""
