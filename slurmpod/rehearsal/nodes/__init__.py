"""Machines made of Linux namespaces, each with a real systemd; nothing here knows of AWS or Slurm.

`Machines` boots them, `bake` makes the image that they boot from, `enter_command` lets another
process into one, `clear_if_dead` ends what a killed rehearsal left, and `host_check` tells what a
computer lacks for all this. Everything is the standard library only.
"""
