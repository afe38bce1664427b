"""Generators of pages and data of this repository; no user of slurmpod needs them."""
