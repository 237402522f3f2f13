"""The controllers of a small but true cluster, one file each; `all` starts them together.

Each follows the API in process (`stowplan.embedded.following`), is told keys, and brings the object of a key to where
its spec says. Nothing here runs containers: the kubelet stand-in reports what a kubelet would.
"""
