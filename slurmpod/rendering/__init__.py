"""Resolved -> the bundle of lifecycle scripts, in memory. The only user of Jinja2."""

from slurmpod.rendering.bundle import Bundle, Placeholder, render_bundle

__all__ = ["Bundle", "Placeholder", "render_bundle"]
