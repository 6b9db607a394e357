package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// inertSwitches are the boolean flags of kube-apiserver 1.25 that have no effect
// here. The list also has those that were deprecated or added around that
// release, so that a command line that once worked is not refused.
const inertSwitches = `
	aggregator-reject-forwarding-redirect allow-privileged
	audit-log-batch-throttle-enable audit-log-compress audit-log-truncate-enabled
	audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled
	contention-profiling
	enable-aggregator-routing enable-bootstrap-token-auth enable-garbage-collector enable-logs-handler
	encryption-provider-config-automatic-reload experimental-logging-sanitization
	kubelet-https log-json-split-stream permit-address-sharing permit-port-sharing
	service-account-extend-token-expiration service-account-lookup shutdown-send-retry-after watch-cache
	add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers
`

// inertOptions are the flags with a value that have no effect here.
const inertOptions = `
	admission-control-config-file admission-control allow-metric-labels api-audiences apiserver-count
	audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst
	audit-log-batch-throttle-qps audit-log-format audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode
	audit-log-path audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-policy-file
	audit-webhook-batch-buffer-size audit-webhook-batch-max-size audit-webhook-batch-max-wait
	audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-qps audit-webhook-config-file
	audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-max-batch-size
	audit-webhook-truncate-max-event-size audit-webhook-version
	authentication-token-webhook-cache-ttl authentication-token-webhook-config-file authentication-token-webhook-version
	authorization-policy-file authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
	authorization-webhook-config-file authorization-webhook-version azure-container-registry-config
	cloud-config cloud-provider cloud-provider-gce-l7lb-src-cidrs cloud-provider-gce-lb-src-cidrs cors-allowed-origins
	default-not-ready-toleration-seconds default-unreachable-toleration-seconds default-watch-cache-size
	delete-collection-workers disabled-metrics
	egress-selector-config-file encryption-provider-config endpoint-reconciler-type
	etcd-cafile etcd-certfile etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval
	etcd-healthcheck-timeout etcd-keyfile etcd-prefix etcd-readycheck-timeout etcd-servers etcd-servers-overrides
	event-ttl external-hostname goaway-chance http2-max-streams-per-connection
	identity-lease-duration-seconds identity-lease-renew-interval-seconds
	kubelet-certificate-authority kubelet-client-certificate kubelet-client-key kubelet-port
	kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port
	lease-reuse-duration-seconds log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency
	log-json-info-buffer-size logging-format
	master-service-namespace max-connection-bytes-per-sec
	oidc-ca-file oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim
	oidc-signing-algs oidc-username-claim oidc-username-prefix
	proxy-client-cert-file proxy-client-key-file
	service-account-api-audiences service-account-jwks-uri service-account-key-file
	service-account-max-token-expiration
	stderrthreshold storage-backend storage-media-type
	strict-transport-security-directives target-ram-mb tls-sni-cert-key tracing-config-file vmodule watch-cache-sizes
`

// addInertFlags defines the flags that are accepted without effect, hidden from
// the help.
func addInertFlags(fs *pflag.FlagSet) {
	for name := range strings.FieldsSeq(inertOptions) {
		fs.VarPF(inert("string"), name, "", "has no effect").Hidden = true
	}
	for name := range strings.FieldsSeq(inertSwitches) {
		f := fs.VarPF(inert("bool"), name, "", "has no effect")
		f.NoOptDefVal = "true" // or the next argument would be taken for the value
		f.Hidden = true
	}
}

// Ineffective returns the names of the flags on a parsed command line that have
// no effect ("--etcd-servers"), sorted. They exist so that the command line of a
// kube-apiserver works as it is; whoever parses it should warn of them.
func Ineffective(fs *pflag.FlagSet) []string {
	var names []string
	fs.Visit(func(f *pflag.Flag) {
		if _, ok := f.Value.(inert); ok || strings.HasPrefix(f.Name, told) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// told begins the names of flags that are only told to extension servers: nobody
// is logged in by them.
const told = "requestheader-"

// inert is the value of a flag without effect; it holds the flag's type.
type inert string

func (v inert) String() string { return "" }
func (v inert) Type() string   { return string(v) }
func (v inert) Set(text string) error {
	if v != "bool" {
		return nil
	}
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}
