"""Machines made of Linux namespaces, each with a real systemd; independent of AWS and Slurm.

`Machines` boots them, `bake` builds the image they boot from, `enter_command` runs a process in
one, `clear_if_dead` ends the remains of a killed rehearsal, and `host_check` lists what a computer
lacks. Everything uses the standard library only.
"""
