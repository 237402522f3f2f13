{{- /* What no schema can say: values that are each allowed, and do not go together. */ -}}
{{- define "stowplan.refuse" -}}
{{- $election := (include "stowplan.config" . | fromYaml).leaderElection | default dict -}}
{{- $elects := ne (toString $election.leaderElect) "false" -}}
{{- if and (not $elects) (gt (int .Values.replicas) 1) -}}
{{- fail "config.leaderElection: with leaderElect: false all replicas schedule at once: set it to true, or replicas: 1" -}}
{{- end -}}
{{- if eq .Values.mode "second-scheduler" -}}
{{- $lease := include "stowplan.lease" . | fromYaml -}}
{{- if and $elects (eq $lease.namespace "kube-system") (eq $lease.name "kube-scheduler") -}}
{{- fail "config.leaderElection: its lease is kube-system/kube-scheduler, that of kube-scheduler itself, and whoever holds that one keeps the other from scheduling: name another (resourceName: stowplan), or set mode: replacement" -}}
{{- end -}}
{{- if has "default-scheduler" (include "stowplan.schedulerNames" . | fromYamlArray) -}}
{{- fail "config.profiles: pods of default-scheduler are scheduled by kube-scheduler already: name the profile otherwise (schedulerName: stowplan), or set mode: replacement" -}}
{{- end -}}
{{- else if not (has "default-scheduler" (include "stowplan.schedulerNames" . | fromYamlArray)) -}}
{{- fail "config.profiles: in the place of kube-scheduler it has to place pods that name no scheduler: give it a profile default-scheduler, or set mode: second-scheduler" -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- if regexMatch "^--(config|secure-port)(=|$)" . -}}
{{- fail (printf "extraArgs: %s: the chart says this flag itself: leave it out" .) -}}
{{- else if regexMatch "^--leader-elect" . -}}
{{- fail (printf "extraArgs: %s: say it in config.leaderElection, from which the Role has the name of the lease" .) -}}
{{- end -}}
{{- end -}}
{{- range $name := keys .Values.extraPlugins.files | sortAlpha -}}
{{- if not (regexMatch "^[A-Za-z_][A-Za-z0-9_]*\\.py$" $name) -}}
{{- fail (printf "extraPlugins.files: %s is no Python file: name it with letters, digits and _, and .py at the end" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.extraPlugins.files .Values.extraPlugins.configMap -}}
{{- fail "extraPlugins: give files or configMap, not both: both would be mounted at /etc/stowplan/plugins" -}}
{{- end -}}
{{- end -}}
