package request

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// lastsRemotely reports whether an extension server may take as long as the client wants:
// for a watch, a connection to a process, or another protocol.
func (r *Request) lastsRemotely() bool {
	if r.Upgrade() != "" || slices.Contains(connections, r.Target.Unserved.Subresource) {
		return true
	}
	return r.Target.Unserved.Resource != "" && r.Method() == http.MethodGet && r.Verb() == "watch"
}

// connections are the subresources that connect to a process.
var connections = []string{"attach", "exec", "log", "portforward", "proxy"}

// Upgrade is the protocol that the client asks to change to, "" for none.
func (r *Request) Upgrade() string {
	for _, v := range r.HTTP.Header["Connection"] {
		for option := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(option), "upgrade") {
				return r.HTTP.Header.Get("Upgrade")
			}
		}
	}
	return ""
}

// Discovers reports whether a request for an extension server is for the discovery
// document of its group version.
func (r *Request) Discovers() bool {
	return r.Target.Unserved.Resource == "" && r.HTTP.URL.Path == "/apis/"+r.Target.Remote.APIVersion()
}

// remoteFigures has the labels of a request for an extension server: the names of its
// resources are those that it has in discovery, so that their number is bounded.
func remoteFigures(r *Request) metrics.Key {
	t := &r.Target
	k := metrics.Key{Verb: metricVerb(r), Resource: catalog.Resource{Group: t.Remote.Group, Version: t.Remote.GroupVersion.Version}}
	name := t.Unserved.Resource
	if t.Unserved.Subresource != "" {
		name += "/" + t.Unserved.Subresource
	}
	if documents := t.Remote.Documents; documents != nil && documents.Names[name] {
		k.Resource.Plural, k.Sub, k.Scope = t.Unserved.Resource, t.Unserved.Subresource, scopeOf(r)
	}
	return k
}
