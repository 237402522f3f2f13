"""Binding, eviction and scale; expected texts are those of kube-apiserver 1.36."""
