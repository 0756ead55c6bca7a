"""Typed settings, strict TOML, presets: plain values, without torch."""
