"""The releases of Kubernetes whose API can be served. `storage.catalogue` has what each of them serves."""

from __future__ import annotations

from typing import Final

#: The version of each release that everything here is taken from.
VERSIONS: Final = {"1.36": "v1.36.4", "1.37": "v1.37.1"}
#: The release that is served unless another is asked for.
RELEASE: Final = "1.37"
