"""The history of a node or job, merged from many sources in order, with its meaning."""
