package extensions

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// registrationGroup is the group of API services.
const registrationGroup = "apiregistration." + profile.GroupSuffix

// service is the needed part of an API service. It never changes.
type service struct {
	api.GroupVersion
	at        *destination // nil for a group version of this server itself
	available status
}

// destination is the server of a group version, and the trust in it.
type destination struct {
	namespace, name string
	port            int32
	authorities     []byte // PEM; none for those of the machine
	insecure        bool   // its certificate is not verified
}

func (d *destination) equal(other *destination) bool {
	return d.namespace == other.namespace && d.name == other.name && d.port == other.port &&
		d.insecure == other.insecure && slices.Equal(d.authorities, other.authorities)
}

// status is the condition Available.
type status struct{ status, reason, message string }

// remote reports whether an extension server serves the group version.
func (s *service) remote() bool { return s != nil && s.at != nil }

func readService(obj document.Value) *service {
	spec := obj.Get("spec")
	text := func(v document.Value) string { return strings.Clone(v.Text()) }
	number := func(v document.Value) int { n, _ := v.Int(); return int(n) }
	s := &service{GroupVersion: api.GroupVersion{Group: text(spec.Get("group")), Version: text(spec.Get("version")),
		GroupPriority: number(spec.Get("groupPriorityMinimum")), VersionPriority: number(spec.Get("versionPriority"))}}
	condition := obj.At("status", "conditions").ElementBy("type", kinds.LocalService.Type)
	s.available = status{text(condition.Get("status")), text(condition.Get("reason")), text(condition.Get("message"))}
	if at := spec.Get("service"); at.Exists() && !at.IsNull() && s.Group != "" {
		s.at = &destination{namespace: text(at.Get("namespace")), name: text(at.Get("name")), port: int32(number(at.Get("port"))),
			insecure: spec.Get("insecureSkipTLSVerify").Bool()}
		s.at.authorities, _ = base64.StdEncoding.DecodeString(spec.Get("caBundle").Text()) // the schema has checked it
		if s.at.port == 0 {
			s.at.port = 443
		}
	}
	return s
}
