"""What objects are given and refused for on their way in; expected texts are those of kube-apiserver 1.36."""
