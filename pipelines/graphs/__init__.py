"""Nodes, the graph of tasks made of them, parts of it, and plans."""
