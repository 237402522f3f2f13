{{- define "stowplan.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "stowplan.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "stowplan.fullname" . -}}
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "stowplan.labels" -}}
app.kubernetes.io/part-of: stowplan
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "stowplan.selectorLabels" -}}
app.kubernetes.io/name: stowplan
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "stowplan.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* The text of config.yaml: what was given, or what the overlay of the mode has. */ -}}
{{- define "stowplan.config" -}}
{{- if .Values.config -}}
{{- toYaml .Values.config -}}
{{- else -}}
{{- .Files.Get (printf "files/%s.yaml" .Values.mode) -}}
{{- end -}}
{{- end -}}

{{- /* Namespace and name of the lease that replicas compete for, with upstream's defaults, as YAML. */ -}}
{{- define "stowplan.lease" -}}
{{- $election := (include "stowplan.config" . | fromYaml).leaderElection | default dict -}}
namespace: {{ $election.resourceNamespace | default "kube-system" }}
name: {{ $election.resourceName | default "kube-scheduler" }}
{{- end -}}

{{- /* The names that pods ask for this scheduler by, as YAML; one profile alone has upstream's if it says none. */ -}}
{{- define "stowplan.schedulerNames" -}}
{{- range (include "stowplan.config" . | fromYaml).profiles | default (list dict) }}
- {{ .schedulerName | default "default-scheduler" | quote }}
{{- end }}
{{- end -}}

{{- /* Labels or annotations of the user's, as YAML: the path of the value, what it has, and the names that are the chart's own. */ -}}
{{- define "stowplan.further" -}}
{{- $path := index . 0 -}}
{{- $own := index . 2 -}}
{{- range $name := index . 1 | keys | sortAlpha -}}
{{- if has $name $own -}}
{{- fail (printf "%s: %s is the chart's own: leave it out" $path $name) -}}
{{- end -}}
{{- end -}}
{{- index . 1 | toYaml -}}
{{- end -}}

{{- /* The ConfigMap that holds the files of plugins; nothing if there is none. */ -}}
{{- define "stowplan.pluginFiles" -}}
{{- if .Values.extraPlugins.files -}}
{{- include "stowplan.fullname" . }}-plugins
{{- else -}}
{{- .Values.extraPlugins.configMap -}}
{{- end -}}
{{- end -}}

{{- define "stowplan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "stowplan.topologySpread" -}}
- topologyKey: kubernetes.io/hostname
  maxSkew: 1
  # A cluster of one node has a scheduler, too.
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "stowplan.selectorLabels" . | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end -}}
