"""Write configuration files for tests in few words."""

from typing import Any

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def document(**fields: Any) -> dict[str, Any]:
    """Make a configuration with these top-level fields."""
    return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", **fields}


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """Make a configuration whose only profile gives one plugin arguments."""
    return document(profiles=[{"schedulerName": "a", "pluginConfig": [{"name": plugin, "args": args}]}])


def with_plugins(**points: Any) -> dict[str, Any]:
    """Make a configuration whose only profile has these plugin lists."""
    return document(profiles=[{"schedulerName": "a", "plugins": points}])
