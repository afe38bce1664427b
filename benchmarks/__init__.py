"""The cost of slurmpod in time, measured side by side with a floor in one run: `make bench`."""
