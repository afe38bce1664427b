"""Offline rules: what relates several settings of an environment, or a setting and a fact of AWS.

One rule is one small pure function with its facts (id, title, why, fix, source, severity); one file
holds one area. `areas` lists the areas, `check` applies them.
"""
