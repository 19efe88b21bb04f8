{{- define "moorage.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "moorage.config" -}}
apiVersion: config.moorage.dev/v1alpha1
kind: OperatorConfiguration
{{ toYaml .Values.config }}
{{- end }}

{{- /* The authority of admission: the one that the cluster has, else a new one, the same in a whole rendering. */}}
{{- define "moorage.authority" -}}
{{- if not (hasKey .Values "authority") }}
{{- $secret := lookup "v1" "Secret" .Release.Namespace (printf "%s-admission-tls" .Release.Name) }}
{{- $authority := pick (get $secret "data" | default dict) "ca.crt" "ca.key" }}
{{- if ne (len $authority) 2 }}
{{- $made := genCAWithKey "moorage-admission-ca" 3650 (genPrivateKey "ecdsa") }}
{{- $authority = dict "ca.crt" (b64enc $made.Cert) "ca.key" (b64enc $made.Key) }}
{{- end }}
{{- $_ := set .Values "authority" $authority }}
{{- end }}
{{- toYaml .Values.authority }}
{{- end }}
