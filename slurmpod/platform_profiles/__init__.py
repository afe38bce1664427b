"""HyperPod's own part of a node, as data: one profile per image generation, and variants."""
