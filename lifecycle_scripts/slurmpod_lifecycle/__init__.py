"""The program that sets up every new node of the cluster: finds its role and runs its steps.

It uses only Python's standard library, 3.10 or later (the Python of HyperPod's image), and nothing
from the internet. It can be run again at any time: what is done is left alone.
"""
