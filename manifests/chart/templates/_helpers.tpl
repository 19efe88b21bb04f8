{{- define "moorage.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "moorage.config" -}}
apiVersion: config.moorage.dev/v1alpha1
kind: OperatorConfiguration
{{ toYaml .Values.config }}
{{- end }}
