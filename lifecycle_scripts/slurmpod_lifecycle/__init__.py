"""The program that runs on every new node of the cluster: finds out its role and does its steps.

Python's standard library only, 3.10 or later (the Python of HyperPod's image), nothing from the
internet. Everything may be run again at any time: what is done is left alone.
"""
