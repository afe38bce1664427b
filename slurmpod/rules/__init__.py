"""Offline rules: constraints across settings of an environment, or on facts about AWS.

One rule is one small pure function with its facts (id, title, why, fix, source, severity); one file
holds one area. `areas` lists the areas, `check` applies them.
"""
