"""Pod Security: the standard that the labels of a namespace hold its pods to. `enforcement` is the way in."""
