/**
 * Which fields a pod has, where they decide where it goes. A field with a misspelt name would count for nothing, and the
 * answer would be about another pod than the one that is meant. The fields are those of all releases that are served.
 */

/** Names of fields that are not looked into, and those that are. */
const fields = (names, within = {}) => ({
  ...Object.fromEntries(names.split(" ").map((name) => [name, null])),
  ...within,
});

const EXPRESSION = fields("key operator values");
const SELECTOR = fields("matchLabels", { matchExpressions: EXPRESSION });
const NODE_TERM = { matchExpressions: EXPRESSION, matchFields: EXPRESSION };
const POD_TERM = fields("matchLabelKeys mismatchLabelKeys namespaces topologyKey", {
  labelSelector: SELECTOR,
  namespaceSelector: SELECTOR,
});
const POD_AFFINITY = {
  preferredDuringSchedulingIgnoredDuringExecution: fields("weight", { podAffinityTerm: POD_TERM }),
  requiredDuringSchedulingIgnoredDuringExecution: POD_TERM,
};
const AFFINITY = {
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: fields("weight", { preference: NODE_TERM }),
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: NODE_TERM },
  },
  podAffinity: POD_AFFINITY,
  podAntiAffinity: POD_AFFINITY,
};
const RESOURCES = fields("limits requests", { claims: fields("name request") });
const CONTAINER = fields(
  "args command env envFrom image imagePullPolicy lifecycle livenessProbe name readinessProbe resizePolicy" +
    " restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath" +
    " terminationMessagePolicy tty volumeDevices volumeMounts workingDir",
  { ports: fields("containerPort hostIP hostPort name protocol"), resources: RESOURCES },
);
const VOLUME = fields(
  "awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir ephemeral fc flexVolume" +
    " flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi name nfs photonPersistentDisk portworxVolume" +
    " projected quobyte rbd scaleIO secret storageos vsphereVolume",
  { persistentVolumeClaim: fields("claimName readOnly") },
);
const SPEC = fields(
  "activeDeadlineSeconds automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks ephemeralContainers" +
    " evictionResponders hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets" +
    " nodeName nodeSelector overhead preemptionPolicy priority priorityClassName readinessGates restartPolicy" +
    " runtimeClassName schedulerName securityContext serviceAccount serviceAccountName setHostnameAsFQDN" +
    " shareProcessNamespace subdomain terminationGracePeriodSeconds",
  {
    affinity: AFFINITY,
    containers: CONTAINER,
    initContainers: CONTAINER,
    os: fields("name"),
    resourceClaims: fields("name resourceClaimName resourceClaimTemplateName"),
    resources: RESOURCES,
    schedulingGates: fields("name"),
    schedulingGroup: fields("podGroupName"),
    tolerations: fields("effect key operator tolerationSeconds value"),
    topologySpreadConstraints: fields(
      "matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable",
      { labelSelector: SELECTOR },
    ),
    volumes: VOLUME,
  },
);
const METADATA = fields(
  "annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels" +
    " managedFields name namespace ownerReferences resourceVersion selfLink uid",
);

export const POD = fields("apiVersion kind status", { metadata: METADATA, spec: SPEC });

/** Return the paths of fields that are not known, such as `spec.nodeSelectr`. */
export function unknownFields(value, known = POD, path = "") {
  if (known === null || typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one, at) => unknownFields(one, known, `${path}[${at}]`));
  return Object.entries(value).flatMap(([name, one]) => {
    const here = path ? `${path}.${name}` : name;
    return Object.hasOwn(known, name) ? unknownFields(one, known[name], here) : [here];
  });
}
