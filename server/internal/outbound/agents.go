package outbound

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// AgentSettings holds what an operator sets of connections to nodes and pods.
type AgentSettings struct {
	// KubeletPreferredAddressTypes are the types of nodes' addresses, the best first.
	// Default Hostname, InternalDNS, InternalIP, ExternalDNS, ExternalIP.
	KubeletPreferredAddressTypes []string
	// KubeletPort is the port of agents that report none. Default 10250.
	KubeletPort int
	// KubeletTimeout bounds connecting to an agent, TLS included. Default 5s.
	KubeletTimeout time.Duration
	// ConnectToLocalAddresses permits connections to nodes, pods and services at loopback,
	// link-local and metadata addresses, by which a user could reach the server's machine.
	ConnectToLocalAddresses bool
}

// addressTypes are the types of nodes' addresses, in the usual order of preference.
var addressTypes = []string{"Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"}

// Validate finds types of addresses that no node reports.
func (s *AgentSettings) Validate() error {
	for _, kind := range s.KubeletPreferredAddressTypes {
		if !slices.Contains(addressTypes, kind) {
			return fmt.Errorf("--kubelet-preferred-address-types: nodes report no addresses of the type %q; there are %s", kind, strings.Join(addressTypes, ", "))
		}
	}
	return nil
}

// SetDefaults fills in every field that is not set.
func (s *AgentSettings) SetDefaults() {
	if len(s.KubeletPreferredAddressTypes) == 0 {
		s.KubeletPreferredAddressTypes = slices.Clone(addressTypes)
	}
	s.KubeletPort = cmp.Or(s.KubeletPort, 10250)
	s.KubeletTimeout = cmp.Or(s.KubeletTimeout, 5*time.Second)
}

// Agents connects to nodes and pods. It is safe for concurrent use.
type Agents struct {
	settings AgentSettings
	trust    func() *pki.AgentTrust
	dialer   *net.Dialer
	pods     *Transports

	verified   *Lane[*pki.AgentTrust]
	unverified *Lane[*pki.AgentTrust]
}

// NewAgents makes connections by the present trust.
func NewAgents(settings AgentSettings, trust func() *pki.AgentTrust) *Agents {
	a := &Agents{settings: settings, trust: trust, dialer: Dialer()}
	a.dialer.Control = a.permit
	a.verified = NewLane(func(trust *pki.AgentTrust) *Transports {
		return a.connect(trust, trust.Authorities == nil) // without authorities unverified, as in 1.25
	})
	a.unverified = NewLane(func(trust *pki.AgentTrust) *Transports { return a.connect(trust, true) })
	a.pods = NewTransports(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, a.dialer.DialContext) //nolint:gosec // nobody vouches for pods
	return a
}

// ErrLocal is the refusal to connect to an address that could be of the server's machine.
var ErrLocal = errors.New("address not allowed")

// metadata are the addresses at which clouds tell machines their secrets, and that look
// like others.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// Permits reports whether connections to an address are permitted.
func (a *Agents) Permits(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() {
		return false
	}
	for _, m := range metadata {
		if ip.WithZone("") == m && !a.settings.ConnectToLocalAddresses {
			return false
		}
	}
	return ip.IsGlobalUnicast() || a.settings.ConnectToLocalAddresses
}

// permit checks each address that is connected to, also those of names.
func (a *Agents) permit(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !a.Permits(at.Addr()) {
		return ErrLocal
	}
	return nil
}

// Pods are connections to pods and to other servers on nodes.
func (a *Agents) Pods() *Transports { return a.pods }

// Begin begins a request to an agent with the present credentials. An insecure one does not
// verify the agent's certificate. Its sender calls End.
func (a *Agents) Begin(insecure bool) *Transports {
	if insecure {
		return a.unverified.Begin(a.trust())
	}
	return a.verified.Begin(a.trust())
}

// connect makes transports to agents.
func (a *Agents) connect(trust *pki.AgentTrust, insecure bool) *Transports {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // as the caller wants
	if !insecure {
		config.RootCAs = trust.Authorities
	}
	if trust.Certificate != nil {
		config.Certificates = []tls.Certificate{*trust.Certificate}
	}
	dialer := *a.dialer
	dialer.Timeout = a.settings.KubeletTimeout
	t := NewTransports(config, dialer.DialContext)
	t.Requests.TLSHandshakeTimeout, t.Upgrades.TLSHandshakeTimeout = dialer.Timeout, dialer.Timeout
	return t
}

// Address is the host and the port of the agent of a node. Errors: the node has no
// address.
func (a *Agents) Address(node document.Value) (host, port string, err error) {
	for _, kind := range a.settings.KubeletPreferredAddressTypes {
		for _, at := range node.At("status", "addresses").Elements() {
			if host := at.Get("address").Text(); at.Get("type").Equals(kind) && host != "" {
				reported, _ := node.At("status", "daemonEndpoints", "kubeletEndpoint", "Port").Int()
				return host, strconv.FormatInt(cmp.Or(max(reported, 0), int64(a.settings.KubeletPort)), 10), nil
			}
		}
	}
	return "", "", fmt.Errorf("node %s has reported no address by which it is reached", node.At("metadata", "name").Text())
}
