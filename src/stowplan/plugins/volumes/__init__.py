"""What the volume plugins share: claims of pods, annotations, hints, and disks that CSI drivers took over."""
