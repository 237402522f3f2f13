"""What several volume plugins share: the claims that a pod names, and in-tree disks that CSI drivers took over."""
