package server

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// AddFlags defines the command line of a server: the flags of kube-apiserver 1.25 under
// their names, and a few of our own. The flags write to c, whose unset fields get the
// defaults of the command line first (a fixed port and a data directory, which Config has
// no defaults for). The other flags of kube-apiserver exist without effect; see
// options.Check.
//
// Words may be joined by underscores in place of dashes, as in kube-apiserver.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	setDefault(&c.DataDir, "./capstan-data")
	setDefault(&c.SecurePort, 6443)
	setDefault(&c.TLSMinVersion, "VersionTLS12")
	kubeconfig := c.KubeconfigFile
	c.setCommandLineDefaults()

	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	c.addStoreFlags(fs)
	c.addEtcdFlags(fs)
	fs.StringVar(&c.KubeconfigFile, "write-kubeconfig", kubeconfig, "where to write the administrator's kubeconfig (default <data-dir>/admin.kubeconfig)")
	c.addReleaseFlags(fs)
	fs.StringSliceVar(&c.Controllers, "controllers", c.Controllers,
		"controllers to run inside: '*' is all of them but "+strings.Join(controller.OnlyByName(),
			" and ")+", 'name' this one, '-name' not this one, '-*' none; there are "+strings.Join(controller.Names(), ", "))
	c.addServingFlags(fs)

	fs.StringVar(&c.ClientCAFile, "client-ca-file", c.ClientCAFile, "authorities whose client certificates are accepted, PEM")
	c.addSigningFlags(fs)
	fs.StringVar(&c.TokenAuthFile, "token-auth-file", c.TokenAuthFile, "CSV file of bearer tokens: token,user,uid[,group...]")
	fs.Var((*negated)(&c.DisableAnonymousAuth), "anonymous-auth", "accept requests without credentials as system:anonymous")
	fs.Lookup("anonymous-auth").NoOptDefVal = "true"
	c.addAuthorizationFlags(fs)
	c.addAccountFlags(fs)
	c.addLoginFlags(fs)
	c.addAdmissionFlags(fs)
	fs.StringVar(&c.ServiceClusterIPRange, "service-cluster-ip-range", c.ServiceClusterIPRange,
		"CIDR that service addresses are taken from, or one for each address family with a comma between")
	fs.StringVar(&c.ServiceNodePortRange, "service-node-port-range", c.ServiceNodePortRange, "ports that node ports are taken from: FIRST-LAST, or FIRST+COUNT")
	fs.Var((*lasting)(&c.EventTTL), "event-ttl", "how long after its last write an event vanishes; 0 for never")
	fs.Var((*seconds)(&c.MinRequestTimeout), "min-request-timeout", "seconds that a watch stays open at least")
	c.addLoadFlags(fs)
	fs.Var((*negated)(&c.DisableProfiling), "profiling", "serve profiles below /debug/pprof/")
	fs.Lookup("profiling").NoOptDefVal = "true"
	fs.Var((*bound)(&c.SlowRequests), "slow-requests", "number of the last slow requests that are shown at /debug/slow_requests, of about a kilobyte each; 0 for none")
	fs.Var((*negated)(&c.DisableExplorer), "explorer", "serve the explorer, a page for browsers, at /explorer/")
	fs.Lookup("explorer").NoOptDefVal = "true"

	c.Audit.AddFlags(fs)
	fs.StringVar(&c.TracingConfigFile, "tracing-config-file", c.TracingConfigFile,
		"collector of OpenTelemetry that gets the spans of requests, and the part of the requests (a TracingConfiguration), YAML or JSON")
	fs.Float64Var(&c.GoawayChance, "goaway-chance", c.GoawayChance,
		"part of the HTTP/2 requests after which clients connect again, perhaps to another server: 0 to 0.02")
	fs.BoolVar(&c.ShutdownSendRetryAfter, "shutdown-send-retry-after", c.ShutdownSendRetryAfter,
		"refuse new requests with 429 rather than 503 while the server stops")
	c.addExtensionFlags(fs)
	c.addAgentFlags(fs)
	addLimited(fs, c.times())
	addLimited(fs, c.sizes())
	addLimited(fs, c.counts())
	options.AddInert(fs)
}

// addReleaseFlags declares the flags that choose parts of the documents.
func (c *Config) addReleaseFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.RuntimeConfig, "runtime-config", c.RuntimeConfig,
		"what is served, <key>[=<value>] with commas between: a group version (batch/v1), a resource of one (batch/v1/jobs), api/all, api/ga, api/beta, api/alpha; alpha versions, and beta versions that came after 1.24, are off")
	fs.StringSliceVar(&c.FeatureGates, "feature-gates", c.FeatureGates, options.Help())
	fs.StringSliceVar(&c.EmulatedVersion, "emulated-version", c.EmulatedVersion,
		"the release to serve: of the built-in kinds, 1.25 to 1.36 (1.25 if none is named), and of an API whose documents have several, GROUP=RELEASE")
	fs.BoolVar(&c.HideNewerObjects, "hide-newer-objects", c.HideNewerObjects,
		"start on a store with objects of kinds that came after the release to serve: they are hidden, and policies among them have no effect")
	fs.StringVar(&c.ShowHiddenMetricsForVersion, "show-hidden-metrics-for-version", c.ShowHiddenMetricsForVersion,
		"the release before this one (1.24), to show the metrics that this one hides; there are none")
}

// addServingFlags declares the flags of the addresses and certificates of the server itself.
func (c *Config) addServingFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.BindAddress, "bind-address", c.BindAddress, "IP address to listen on; 0.0.0.0 for all of this machine's")
	fs.StringVar(&c.ExternalHostname, "external-hostname", c.ExternalHostname, "name by which others reach the server (default: its address)")
	fs.StringVar(&c.AdvertiseAddress, "advertise-address", c.AdvertiseAddress,
		"IP address that clients inside the cluster reach the server at (default: --bind-address, or one of this machine's)")
	fs.StringVar(&c.TLSCertFile, "tls-cert-file", c.TLSCertFile, "serving certificate with its chain, PEM; made by the server when not given")
	fs.StringVar(&c.TLSPrivateKeyFile, "tls-private-key-file", c.TLSPrivateKeyFile, "private key of --tls-cert-file, PEM")
	fs.StringArrayVar(&c.TLSSNICertKeys, "tls-sni-cert-key", c.TLSSNICertKeys,
		"certificate for clients that ask for a server of its names, CERT,KEY or CERT,KEY:NAME,*.NAME; may be given several times")
	fs.StringVar(&c.CertDir, "cert-dir", c.CertDir, "where certificates made by the server are kept (default <data-dir>/pki), and apiserver.crt and apiserver.key are looked for when --tls-cert-file is not given")
	fs.StringVar(&c.TLSMinVersion, "tls-min-version", c.TLSMinVersion, "least TLS version: VersionTLS12 or VersionTLS13")
	fs.StringSliceVar(&c.TLSCipherSuites, "tls-cipher-suites", c.TLSCipherSuites, "cipher suites for TLS 1.2 (default: all that are safe)")
}

// addLoadFlags declares the flags that bound how many requests run at once.
func (c *Config) addLoadFlags(fs *pflag.FlagSet) {
	fs.Var((*bound)(&c.MaxRequestsInflight), "max-requests-inflight",
		"reading requests that may run at once; without priority and fairness a quarter of them for one user; 0 for no bound")
	fs.Var((*bound)(&c.MaxMutatingRequestsInflight), "max-mutating-requests-inflight",
		"writing requests that may run at once; without priority and fairness a quarter of them for one user; 0 for no bound")
	fs.Var((*negated)(&c.DisablePriorityAndFairness), "enable-priority-and-fairness",
		"let requests wait by flow schemas and priority levels, which share the numbers of --max-requests-inflight and --max-mutating-requests-inflight; without it these bound reading and writing requests")
	fs.Lookup("enable-priority-and-fairness").NoOptDefVal = "true"
}

// addStoreFlags defines the flags about the stored objects.
func (c *Config) addStoreFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of the store, the certificates made by the server and the administrator's kubeconfig")
	fs.BoolVar(&c.InMemory, "in-memory", c.InMemory, "keep everything in memory and forget it at the end; --data-dir is not used")
	fs.StringVar(&c.EncryptionConfigFile, "encryption-provider-config", c.EncryptionConfigFile,
		"which resources are encrypted before they are stored, and with which keys")
	fs.BoolVar(&c.EncryptionConfigReload, "encryption-provider-config-automatic-reload", c.EncryptionConfigReload,
		"put changes of the file of --encryption-provider-config to use while the server runs")
}

// addEtcdFlags defines the flags of an etcd that keeps the objects.
func (c *Config) addEtcdFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.EtcdServers, "etcd-servers", c.EtcdServers,
		"URLs of the members of an etcd that keeps the objects for this server and others, as kube-apiserver does (default: a store in --data-dir); not used with --in-memory")
	fs.StringSliceVar(&c.EtcdServersOverrides, "etcd-servers-overrides", c.EtcdServersOverrides,
		"an etcd of their own for events, in which they are written without disturbing other objects: /events#URL;URL")
	c.Etcd.AddConnectionFlags(fs)
	fs.StringVar(&c.StorageMediaType, "storage-media-type", c.StorageMediaType,
		"form in which built-in objects are written to etcd: the binary one of the default, application/json or application/yaml; all are read")
	fs.Var((*negated)(&c.InconsistentAuthorization), "consistent-authorization",
		"decide on each request by rights, policies and quotas that include all that other servers on the etcd have acknowledged before")
	fs.Lookup("consistent-authorization").NoOptDefVal = "true"
	fs.Var((*lasting)(&c.EtcdCompactionInterval), "etcd-compaction-interval", "time between compactions of etcd; 0 for none")
	fs.Var((*lasting)(&c.EtcdCountPeriod), "etcd-count-metric-poll-period", "time after which the objects in etcd are counted again for the metrics; 0 for not at all")
	fs.Var((*lasting)(&c.EtcdSizeInterval), "etcd-db-metric-poll-interval", "time between questions to the members of etcd for the size of their database, for the metrics; 0 for none")
	fs.Var((*seconds)(&c.LeaseReuseDuration), "lease-reuse-duration-seconds", "seconds in which events get the same lease of etcd")
}

// addSigningFlags defines the flags about the authorities of certificate signing requests.
func (c *Config) addSigningFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.ClusterSigningCertFile, "cluster-signing-cert-file", c.ClusterSigningCertFile,
		"authority that signs approved certificate signing requests, PEM (default: the server's own)")
	fs.StringVar(&c.ClusterSigningKeyFile, "cluster-signing-key-file", c.ClusterSigningKeyFile, "private key of --cluster-signing-cert-file, PEM")
	for _, s := range c.SignerAuthorities.Each() {
		fs.StringVar(&s.Cert, "cluster-signing-"+s.Flag+"-cert-file", s.Cert,
			"authority of the signer "+s.Signer+", PEM; once one signer has its own, those without sign nothing")
		fs.StringVar(&s.Key, "cluster-signing-"+s.Flag+"-key-file", s.Key, "private key of --cluster-signing-"+s.Flag+"-cert-file, PEM")
	}
}

// addAccountFlags defines the flags about the tokens of service accounts.
func (c *Config) addAccountFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.ServiceAccountSigningKeyFile, "service-account-signing-key-file", c.ServiceAccountSigningKeyFile,
		"key that signs the tokens of service accounts, PEM (default: that of --service-account-private-key-file, or one that the server makes)")
	fs.StringVar(&c.ServiceAccountSigningEndpoint, "service-account-signing-endpoint", c.ServiceAccountSigningEndpoint,
		"socket of a program that signs the tokens of service accounts and names the keys that verify them, a path or @name (from release 1.32 on)")
	fs.StringVar(&c.ServiceAccountPrivateKeyFile, "service-account-private-key-file", c.ServiceAccountPrivateKeyFile,
		"key that signs the tokens of service accounts in secrets, PEM (default: the one that signs the others)")
	fs.Var(&issuers{list: &c.ServiceAccountIssuers}, "service-account-issuer",
		"issuer in the tokens of service accounts; of several the first is that of new tokens, and all are accepted")
	fs.StringArrayVar(&c.ServiceAccountKeyFiles, "service-account-key-file", c.ServiceAccountKeyFiles,
		"keys that verify the tokens of service accounts, PEM; may be given several times (default: those that sign them, and that of --tls-private-key-file)")
	fs.Var((*negated)(&c.DisableServiceAccountLookup), "service-account-lookup", "refuse tokens in secrets when the secret or the account is gone")
	fs.Lookup("service-account-lookup").NoOptDefVal = "true"
	fs.Var((*negated)(&c.KeepTokenExpiration), "service-account-extend-token-expiration", "let the tokens that pods have by default last a year")
	fs.Lookup("service-account-extend-token-expiration").NoOptDefVal = "true"
	fs.StringVar(&c.ServiceAccountKeysURL, "service-account-jwks-uri", c.ServiceAccountKeysURL,
		"public address of the keys of service accounts' tokens (default: that of this server)")
	fs.StringSliceVar(&c.APIAudiences, "api-audiences", c.APIAudiences,
		"for whom the tokens of service accounts are that name nobody, and who this server is in reviews of tokens (default: the issuer)")
	fs.Var((*expiration)(&c.ServiceAccountMaxTokenExpiration), "service-account-max-token-expiration",
		"longest life of a token of a service account, at least 1h; longer ones are shortened; 0 for no bound")
}

// addAdmissionFlags defines the flags about admission plug-ins.
func (c *Config) addAdmissionFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.DisableAdmissionPlugins, "disable-admission-plugins", c.DisableAdmissionPlugins,
		"admission plug-ins that are off, of those that are on by default: "+strings.Join(admission.Names(false), ", "))
	fs.StringSliceVar(&c.EnableAdmissionPlugins, "enable-admission-plugins", c.EnableAdmissionPlugins,
		"admission plug-ins that are on, besides those that are by default; the others are "+strings.Join(admission.Names(true), ", "))
	fs.StringSliceVar(&c.AdmissionControl, "admission-control", c.AdmissionControl,
		"all admission plug-ins that are on; deprecated: name those that differ from the defaults")
	fs.StringVar(&c.AdmissionControlConfigFile, "admission-control-config-file", c.AdmissionControlConfigFile,
		"configurations of admission plug-ins (an AdmissionConfiguration), YAML or JSON")
	fs.Var((*bound)(&c.NotReadyTolerationSeconds), "default-not-ready-toleration-seconds",
		"seconds that a pod that says nothing about it stays on a node that is not ready")
	fs.Var((*bound)(&c.UnreachableTolerationSeconds), "default-unreachable-toleration-seconds",
		"seconds that a pod that says nothing about it stays on a node that is not reachable")
}

// addLoginFlags defines the flags about users that others know: issuers of ID tokens, and
// webhooks.
func (c *Config) addLoginFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.AuthenticationConfigFile, "authentication-config", c.AuthenticationConfigFile,
		"issuers of ID tokens, an AuthenticationConfiguration, in place of --oidc-*; changes of the file count (from release 1.30 on)")
	fs.StringVar(&c.OIDCIssuerURL, "oidc-issuer-url", c.OIDCIssuerURL, "issuer of ID tokens (OpenID Connect) by which users log in, https")
	fs.StringVar(&c.OIDCClientID, "oidc-client-id", c.OIDCClientID, "client that ID tokens have to be for")
	fs.StringVar(&c.OIDCCAFile, "oidc-ca-file", c.OIDCCAFile, "authorities of the issuer's certificate, PEM (default: those of the machine)")
	fs.StringVar(&c.OIDCUsernameClaim, "oidc-username-claim", c.OIDCUsernameClaim, "claim with the user name")
	fs.StringVar(&c.OIDCUsernamePrefix, "oidc-username-prefix", c.OIDCUsernamePrefix,
		"text before user names; '-' for nothing (default: the issuer and '#', nothing for the claim email)")
	fs.StringVar(&c.OIDCGroupsClaim, "oidc-groups-claim", c.OIDCGroupsClaim, "claim with the groups")
	fs.StringVar(&c.OIDCGroupsPrefix, "oidc-groups-prefix", c.OIDCGroupsPrefix, "text before groups")
	fs.StringToStringVar(&c.OIDCRequiredClaims, "oidc-required-claim", c.OIDCRequiredClaims,
		"claim that ID tokens must have, NAME=VALUE; may be given several times")
	fs.StringSliceVar(&c.OIDCSigningAlgorithms, "oidc-signing-algs", c.OIDCSigningAlgorithms, "accepted algorithms of ID tokens")
	fs.BoolVar(&c.EnableBootstrapTokenAuth, "enable-bootstrap-token-auth", c.EnableBootstrapTokenAuth,
		"let new nodes log in by the bootstrap tokens in secrets of kube-system")
	fs.StringVar(&c.TokenWebhookConfigFile, "authentication-token-webhook-config-file", c.TokenWebhookConfigFile,
		"client configuration (kubeconfig) for a webhook that knows the users of bearer tokens")
	fs.StringVar(&c.TokenWebhookVersion, "authentication-token-webhook-version", c.TokenWebhookVersion,
		"version of the TokenReviews for the webhook: v1 or v1beta1, also as authentication."+profile.GroupSuffix+"/v1")
	fs.Var((*lasting)(&c.TokenWebhookCacheTTL), "authentication-token-webhook-cache-ttl", "how long an answer of the webhook counts; 0 for not at all")
}

// addAuthorizationFlags defines the flags of authorizers.
func (c *Config) addAuthorizationFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.AuthorizationModes, "authorization-mode", c.AuthorizationModes,
		"authorizers in the order they are asked: AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node")
	fs.Var(&instead{&c.AuthorizationConfigFile, func() {
		if !fs.Changed("authorization-mode") {
			c.AuthorizationModes = nil
		}
	}}, "authorization-config",
		"authorizers with their order, an AuthorizationConfiguration, in place of --authorization-mode and --authorization-webhook-*; changes of the file count (from release 1.30 on)")
	fs.StringVar(&c.AuthorizationPolicyFile, "authorization-policy-file", c.AuthorizationPolicyFile, "policies of the authorizer ABAC, a JSON object in each line")
	fs.StringVar(&c.AuthorizationWebhookConfigFile, "authorization-webhook-config-file", c.AuthorizationWebhookConfigFile,
		"client configuration (kubeconfig) for the webhook of the authorization mode Webhook")
	fs.StringVar(&c.AuthorizationWebhookVersion, "authorization-webhook-version", c.AuthorizationWebhookVersion,
		"version of the SubjectAccessReviews for the webhook: v1 or v1beta1, also as authorization."+profile.GroupSuffix+"/v1")
	fs.Var((*lasting)(&c.AuthorizationWebhookAllowedTTL), "authorization-webhook-cache-authorized-ttl",
		"how long an answer of the webhook that allows a request counts; 0 for not at all")
	fs.Var((*lasting)(&c.AuthorizationWebhookOthersTTL), "authorization-webhook-cache-unauthorized-ttl",
		"how long any other answer of the webhook counts; 0 for not at all")
}

// setCommandLineDefaults makes the defaults visible in the help, except those that depend
// on other flags and fields without a flag.
func (c *Config) setCommandLineDefaults() {
	d := *c
	d.setDefaults()
	d.CertDir, d.KubeconfigFile, d.Logger, d.Clock = c.CertDir, c.KubeconfigFile, c.Logger, c.Clock
	d.APIAudiences = c.APIAudiences // depends on --service-account-issuer
	*c = d
}

// addLimited defines the flags of fields with bounds.
func addLimited[T number](fs *pflag.FlagSet, list []limited[T]) {
	for _, v := range list {
		fs.Var(v, v.flag, v.help)
	}
}

// addAgentFlags defines the flags of connections to nodes and pods.
func (c *Config) addAgentFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.KubeletClientCertFile, "kubelet-client-certificate", c.KubeletClientCertFile,
		"client certificate by which the agents of nodes know this server, PEM")
	fs.StringVar(&c.KubeletClientKeyFile, "kubelet-client-key", c.KubeletClientKeyFile, "private key of --kubelet-client-certificate, PEM")
	fs.StringVar(&c.KubeletCAFile, "kubelet-certificate-authority", c.KubeletCAFile,
		"authorities of the certificates of the agents of nodes, PEM (default: they are not verified)")
	fs.StringSliceVar(&c.KubeletPreferredAddressTypes, "kubelet-preferred-address-types", c.KubeletPreferredAddressTypes,
		"types of the addresses of nodes by which their agents are reached, the best first")
	fs.BoolVar(&c.ConnectToLocalAddresses, "connect-to-local-addresses", c.ConnectToLocalAddresses,
		"connect to nodes, pods and services at loopback, link-local and metadata addresses too, for clusters on one machine")
}

// addExtensionFlags defines the flags of extension servers, and of the proxies that
// authenticate users in front of this server, as it does in front of extension servers.
func (c *Config) addExtensionFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.RequestHeaderClientCAFile, "requestheader-client-ca-file", c.RequestHeaderClientCAFile,
		"authorities of proxies that authenticate users, PEM; published for extension servers too")
	fs.StringSliceVar(&c.RequestHeaderAllowedNames, "requestheader-allowed-names", c.RequestHeaderAllowedNames,
		"common names that such a proxy may have (default: any)")
	fs.StringSliceVar(&c.RequestHeaderUsernameHeaders, "requestheader-username-headers", c.RequestHeaderUsernameHeaders, "headers in which it names the user")
	fs.StringSliceVar(&c.RequestHeaderGroupHeaders, "requestheader-group-headers", c.RequestHeaderGroupHeaders, "headers in which it names the user's groups")
	fs.StringSliceVar(&c.RequestHeaderExtraHeadersPrefix, "requestheader-extra-headers-prefix", c.RequestHeaderExtraHeadersPrefix,
		"beginnings of headers in which it gives further attributes of the user")
	fs.StringVar(&c.ProxyClientCertFile, "proxy-client-cert-file", c.ProxyClientCertFile,
		"client certificate by which extension servers know this server, PEM; made by the server when neither it nor --requestheader-client-ca-file is given")
	fs.StringVar(&c.ProxyClientKeyFile, "proxy-client-key-file", c.ProxyClientKeyFile, "private key of --proxy-client-cert-file, PEM")
	fs.BoolVar(&c.EnableAggregatorRouting, "enable-aggregator-routing", c.EnableAggregatorRouting,
		"connect to services by their ready endpoints rather than by their cluster addresses")
	fs.Var((*negated)(&c.ForwardExtensionRedirects), "aggregator-reject-forwarding-redirect",
		"refuse redirects of extension servers rather than sending them to the client; none is followed")
	fs.Lookup("aggregator-reject-forwarding-redirect").NoOptDefVal = "true"
}
