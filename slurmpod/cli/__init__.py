"""The command line `slurmpod`: one module for each command, imported only when it is chosen."""
