"""HyperPod's own part of a node, as data: a profile per generation of its image, and variants."""
