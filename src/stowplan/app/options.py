"""What `stowplan run` was told on its command line: kube-scheduler's flags as one read-only value.

`cli/flag_table.py` says how each flag is written; a field here is the flag of the same name with dashes. What the flags
make of a configuration is up to `effective`.
"""

from __future__ import annotations

import msgspec

from stowplan.config.feature_gates import DEFAULT_GATES, FeatureGates
from stowplan.model.duration import Duration, of_seconds


class Options(msgspec.Struct, frozen=True, rename="kebab"):
    """All flags, with upstream's defaults. `given` names those that were written out."""

    # Misc
    config: str = ""
    config_map: str = ""
    config_text: str = ""
    legacy_config: bool = False
    master: str = ""
    write_config_to: str = ""

    # Secure serving
    bind_address: str = "0.0.0.0"
    cert_dir: str = ""
    disable_http2_serving: bool = False
    http2_max_streams_per_connection: int = 0
    permit_address_sharing: bool = False
    permit_port_sharing: bool = False
    secure_port: int = 10259
    tls_cert_file: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[str, ...] = ()
    tls_min_version: str = ""
    tls_private_key_file: str = ""
    tls_sni_cert_key: tuple[str, ...] = ()

    # Authentication
    authentication_kubeconfig: str = ""
    authentication_skip_lookup: bool = False
    authentication_token_webhook_cache_ttl: Duration = of_seconds(10)
    authentication_tolerate_lookup_failure: bool = True
    client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_client_ca_file: str = ""
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)

    # Authorization
    authorization_always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    authorization_kubeconfig: str = ""
    authorization_webhook_cache_authorized_ttl: Duration = of_seconds(10)
    authorization_webhook_cache_unauthorized_ttl: Duration = of_seconds(10)

    # Deprecated
    contention_profiling: bool = True
    kube_api_burst: int = 100
    kube_api_content_type: str = "application/vnd.kubernetes.protobuf"
    kube_api_qps: float = 50
    kubeconfig: str = ""
    pod_max_in_unschedulable_pods_duration: Duration = of_seconds(300)
    profiling: bool = True

    # Leader election
    leader_elect: bool = True
    leader_elect_lease_duration: Duration = of_seconds(15)
    leader_elect_renew_deadline: Duration = of_seconds(10)
    leader_elect_resource_lock: str = "leases"
    leader_elect_resource_name: str = "kube-scheduler"
    leader_elect_resource_namespace: str = "kube-system"
    leader_elect_retry_period: Duration = of_seconds(2)

    # Feature gate
    emulated_version: tuple[str, ...] = ()
    feature_gates: FeatureGates = DEFAULT_GATES
    min_compatibility_version: tuple[str, ...] = ()

    # Metrics
    allow_metric_labels: tuple[str, ...] = ()
    allow_metric_labels_manifest: str = ""
    disabled_metrics: tuple[str, ...] = ()
    show_hidden_metrics_for_version: str = ""

    # Logs
    log_flush_frequency: Duration = of_seconds(5)
    log_json_info_buffer_size: str = "0"
    log_json_split_stream: bool = False
    log_text_info_buffer_size: str = "0"
    log_text_split_stream: bool = False
    logging_format: str = "text"
    v: int = 0
    vmodule: tuple[str, ...] = ()

    # Global
    help: bool = False
    version: str = "false"

    #: The flags that were written out, by name.
    given: frozenset[str] = frozenset()
    #: Every flag as text, for /flagz.
    texts: tuple[tuple[str, str], ...] = ()
