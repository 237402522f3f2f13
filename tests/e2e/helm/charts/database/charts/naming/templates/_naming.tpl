{{- define "naming.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "naming.metadata" -}}
name: {{ .name | default .root.Release.Name }}
labels: {{- include "naming.labels" .root | nindent 2 }}
{{- with .keep }}
annotations: {helm.sh/resource-policy: keep}
{{- end }}
{{- end }}
