"""Checks of the account: facts gathered read-only, and the checks of them."""
