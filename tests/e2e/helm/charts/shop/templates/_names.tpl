{{- define "shop.name" -}}
{{ printf "%s-web" .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "shop.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "shop.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "shop.selector" . }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* A job that ends at once, for hooks: a list of the root, the name, the exit code, and the annotations that make it one. */}}
{{- define "shop.job" -}}
{{- $root := index . 0 -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $root.Release.Name }}-{{ index . 1 }}
  labels: {{- include "shop.labels" $root | nindent 4 }}
  annotations: {{- index . 3 | toYaml | nindent 4 }}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        stowplan.dev/duration: 100ms
        stowplan.dev/exit-code: {{ index . 2 | quote }}
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: {{ printf "%s:%s" $root.Values.image $root.Chart.AppVersion }}
        args: [{{ index . 1 | quote }}]
{{- end }}
