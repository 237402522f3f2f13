"""The flags of `stowplan run`: kube-scheduler's, with the sections of its help, and a few of our own.

A flag whose subject does not exist here says so in `absent`: it is taken, and one line warns that it does nothing.
Defaults are those of `app.options.RunOptions`.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

#: How a value is written; the words are those of the help.
Kind: TypeAlias = Literal[
    "string", "bool", "int", "float", "duration", "ip", "strings", "metricLabels", "featureGates", "version"
]


class RunFlag(msgspec.Struct, frozen=True):
    """One flag."""

    name: str
    kind: Kind
    help: str
    absent: str = ""
    shorthand: str = ""


Section: TypeAlias = tuple[str, tuple[RunFlag, ...]]

_GO_TLS: Final = "TLS is OpenSSL's here, which has no setting for it per server"
_HTTP2: Final = "only HTTP/1.1 is served"
_UNBUFFERED: Final = "log lines are written at once"

MISC: Final[Section] = (
    "Misc",
    (
        RunFlag(
            "config", "string", "File with the KubeSchedulerConfiguration; read again on SIGHUP and when it changes."
        ),
        RunFlag("config-map", "string", "NAMESPACE/NAME of a ConfigMap that has the configuration under config.yaml."),
        RunFlag("config-text", "string", "The KubeSchedulerConfiguration itself, not a file."),
        RunFlag("legacy-config", "bool", "Take a configuration of an older release, and warn of each thing converted."),
        RunFlag("master", "string", "Address of the Kubernetes API server; wins over the one of the kubeconfig."),
        RunFlag("write-config-to", "string", "Write the configuration in force to this file and exit."),
    ),
)
SERVING: Final[Section] = (
    "Secure serving",
    (
        RunFlag("bind-address", "ip", "IP address to listen on; 0.0.0.0 or :: means all interfaces."),
        RunFlag("cert-dir", "string", "Directory of kube-scheduler.crt and .key; made there if they are missing."),
        RunFlag("disable-http2-serving", "bool", "Do not serve HTTP/2.", _HTTP2),
        RunFlag("http2-max-streams-per-connection", "int", "Most streams of an HTTP/2 connection.", _HTTP2),
        RunFlag("permit-address-sharing", "bool", "Use SO_REUSEADDR.", "SO_REUSEADDR is always used"),
        RunFlag("permit-port-sharing", "bool", "Use SO_REUSEPORT, so that several may listen on the same port."),
        RunFlag("secure-port", "int", "Port for HTTPS with authentication and authorization; 0 serves nothing."),
        RunFlag("tls-cert-file", "string", "File with the certificate for HTTPS, that of its authority after it."),
        RunFlag("tls-cipher-suites", "strings", "Cipher suites of TLS up to 1.2, by Go's or OpenSSL's names."),
        RunFlag("tls-curve-preferences", "strings", "Curves for the exchange of keys, by Go's numbers.", _GO_TLS),
        RunFlag("tls-min-version", "string", "Lowest version of TLS: VersionTLS10, 11, 12 or 13."),
        RunFlag("tls-private-key-file", "string", "File with the private key of --tls-cert-file."),
        RunFlag(
            "tls-sni-cert-key",
            "strings",
            "Further certificate and key files, by the names that clients ask for.",
            "one certificate is served under all names; put the names into --tls-cert-file",
        ),
    ),
)
AUTHENTICATION: Final[Section] = (
    "Authentication",
    (
        RunFlag("authentication-kubeconfig", "string", "Kubeconfig of the API server that is asked about tokens."),
        RunFlag("authentication-skip-lookup", "bool", "Do not look up missing settings in the cluster."),
        RunFlag("authentication-token-webhook-cache-ttl", "duration", "How long to keep what was said about a token."),
        RunFlag("authentication-tolerate-lookup-failure", "bool", "Go on if settings cannot be looked up."),
        RunFlag("client-ca-file", "string", "Authorities of client certificates; the common name is the user."),
        RunFlag("requestheader-allowed-names", "strings", "Common names of proxies that may name users in headers."),
        RunFlag("requestheader-client-ca-file", "string", "Authorities of the certificates of such proxies."),
        RunFlag("requestheader-extra-headers-prefix", "strings", "How headers begin that say more about a user."),
        RunFlag("requestheader-group-headers", "strings", "Headers that name the groups of a user."),
        RunFlag("requestheader-uid-headers", "strings", "Headers that give the UID of a user."),
        RunFlag("requestheader-username-headers", "strings", "Headers that name a user."),
    ),
)
AUTHORIZATION: Final[Section] = (
    "Authorization",
    (
        RunFlag(
            "authorization-always-allow-paths", "strings", "Paths that everybody may see; * at the end is any rest."
        ),
        RunFlag("authorization-kubeconfig", "string", "Kubeconfig of the API server that is asked who may see what."),
        RunFlag(
            "authorization-webhook-cache-authorized-ttl", "duration", "How long to keep that something is allowed."
        ),
        RunFlag("authorization-webhook-cache-unauthorized-ttl", "duration", "How long to keep that something is not."),
    ),
)
DEPRECATED: Final[Section] = (
    "Deprecated",
    (
        RunFlag(
            "contention-profiling", "bool", "Profile blocking; ignored with --config.", "Python has no such profile"
        ),
        RunFlag("kube-api-burst", "int", "Burst of requests to the API server; ignored with --config."),
        RunFlag("kube-api-content-type", "string", "Content type of bindings; ignored with --config."),
        RunFlag("kube-api-qps", "float", "Requests per second to the API server; ignored with --config."),
        RunFlag("kubeconfig", "string", "Kubeconfig of the API server; ignored with --config."),
        RunFlag("pod-max-in-unschedulable-pods-duration", "duration", "After how long a refused pod is tried anyway."),
        RunFlag("profiling", "bool", "Serve /debug; ignored with --config."),
    ),
)
ELECTION: Final[Section] = (
    "Leader election",
    (
        RunFlag("leader-elect", "bool", "Schedule only while holding the lease, so that several replicas can run."),
        RunFlag("leader-elect-lease-duration", "duration", "How long others wait for a leader that does not renew."),
        RunFlag("leader-elect-renew-deadline", "duration", "How long the leader tries to renew before it gives up."),
        RunFlag("leader-elect-resource-lock", "string", "Sort of object used as a lock; only leases."),
        RunFlag("leader-elect-resource-name", "string", "Name of the lease."),
        RunFlag("leader-elect-resource-namespace", "string", "Namespace of the lease."),
        RunFlag("leader-elect-retry-period", "duration", "Time between two attempts to get or renew the lease."),
    ),
)
GATES: Final[Section] = (
    "Feature gate",
    (
        RunFlag("emulated-version", "strings", "Version to behave like.", "decisions are always those of 1.36"),
        RunFlag("feature-gates", "featureGates", "Gates to switch, such as A=true,B=false; may be given repeatedly."),
        RunFlag(
            "min-compatibility-version", "strings", "Oldest version to go with.", "decisions are always those of 1.36"
        ),
    ),
)
METRICS: Final[Section] = (
    "Metrics",
    (
        RunFlag("allow-metric-labels", "metricLabels", "Values of a label that are shown: metric,label=value,value."),
        RunFlag("allow-metric-labels-manifest", "string", "YAML file of such values: metric,label: value,value."),
        RunFlag("disabled-metrics", "strings", "Full names of metrics to leave out."),
        RunFlag("show-hidden-metrics-for-version", "string", "Version whose hidden metrics to show.", "none is hidden"),
    ),
)
LOGS: Final[Section] = (
    "Logs",
    (
        RunFlag("log-flush-frequency", "duration", "Most seconds between two flushes.", _UNBUFFERED),
        RunFlag("log-json-info-buffer-size", "string", "Buffer for JSON lines.", _UNBUFFERED),
        RunFlag("log-json-split-stream", "bool", "JSON: errors to the error stream, the rest to the standard output."),
        RunFlag("log-text-info-buffer-size", "string", "Buffer for text lines.", _UNBUFFERED),
        RunFlag("log-text-split-stream", "bool", "Text: errors to the error stream, the rest to the standard output."),
        RunFlag("logging-format", "string", "text or json."),
        RunFlag("v", "int", "Verbosity of the log.", shorthand="v"),
        RunFlag("vmodule", "strings", "Verbosity by file, such as queue=5,intake=4."),
    ),
)
GLOBAL: Final[Section] = (
    "Global",
    (
        RunFlag("help", "bool", "Help for stowplan run.", shorthand="h"),
        RunFlag("version", "version", "Print the version and quit; raw prints more, vX.Y.Z sets the one reported."),
    ),
)

SECTIONS: Final = (
    MISC,
    SERVING,
    AUTHENTICATION,
    AUTHORIZATION,
    DEPRECATED,
    ELECTION,
    GATES,
    METRICS,
    LOGS,
    GLOBAL,
)
FLAGS: Final = {flag.name: flag for _, flags in SECTIONS for flag in flags}
SHORTHANDS: Final = {flag.shorthand: flag for flag in FLAGS.values() if flag.shorthand}
