package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxDriverName bounds the name of a storage driver, in bytes.
const maxDriverName = 63

// DefaultCSIDriverSpec turns off by default what a feature adds.
func (p Policy) DefaultCSIDriverSpec(spec document.Value) {
	if p.on("SELinuxMountReadWriteOncePod") && !isSet(spec.Get("seLinuxMount")) {
		spec.SetBool("seLinuxMount", false)
	}
	if p.on("VolumeLimitScaling") && !isSet(spec.Get("preventPodSchedulingIfMissing")) {
		spec.SetBool("preventPodSchedulingIfMissing", false)
	}
}

// UpdateCSIDriver counts the changes of members that may change without notice to the
// driver, from 1.30 on those of the whole specification.
func (p Policy) UpdateCSIDriver(obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	same := sameMembers(spec, before, "tokenRequests", "requiresRepublish", "seLinuxMount")
	if p.since("1.30") {
		same = document.Equal(spec, before)
	}
	if same {
		return
	}
	obj.SetObject("metadata").SetInt("generation", number(old.At("metadata", "generation"))+1)
}

// sameMembers reports whether two objects agree in the named members.
func sameMembers(a, b document.Value, names ...string) bool {
	for _, name := range names {
		if !document.Equal(a.Get(name), b.Get(name)) {
			return false
		}
	}
	return true
}

// driverName checks the name of a storage driver, which may be missing. Before 1.35 a missing one is a wrong one, too.
func (p Policy) driverName(c *causes, field, name string) {
	if name == "" {
		c.Required(field, "")
		if p.since("1.35") {
			return
		}
	}
	if len(name) > maxDriverName {
		c.TooLong(field, maxDriverName)
	}
	for _, problem := range document.CheckFormat("dns1123-subdomain", strings.ToLower(name)) {
		c.InvalidText(field, name, problem)
	}
}

// leastExpiration is the shortest lifetime of a token, in seconds.
const leastExpiration = 600

// WarnCSIDriver warns of tokens that the driver would get where it may log them.
func (p Policy) WarnCSIDriver(obj, old document.Value) (texts []string) {
	spec := obj.Get("spec")
	requests := spec.Get("tokenRequests")
	changed := !old.Exists() || !document.Equal(requests, old.At("spec", "tokenRequests"))
	if p.on("CSIServiceAccountTokenSecrets") && changed && requests.Len() > 0 && !isSet(spec.Get("serviceAccountTokenInSecrets")) {
		texts = append(texts, "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "+
			"set to true to prevent possible logging of tokens in volume attributes")
	}
	return texts
}

// ValidateCSIDriver checks the token requests of the driver: before 1.30 once more with the immutable
// members.
func (p Policy) ValidateCSIDriver(obj, old document.Value) []schema.Cause {
	var c causes
	c.tokenRequests(obj.At("spec", "tokenRequests"))
	if first := len(c.Causes); !p.since("1.30") && first > 0 && old.Exists() && !document.Equal(obj, old) {
		c.tokenRequests(obj.At("spec", "tokenRequests"))
		c.PlaceAt(first, "spec")
	}
	return c.Causes
}

// tokenRequests checks that no audience gets two tokens, and their lifetimes.
func (c *causes) tokenRequests(list document.Value) {
	var audiences document.Texts
	for _, request := range list.Elements() {
		if audience := request.Get("audience"); !audiences.Add(audience.Text()) {
			c.Add(schema.CauseDuplicate, member(request, "audience"), "Duplicate value: "+strconv.Quote(audience.Text()))
			continue
		}
		switch seconds := request.Get("expirationSeconds"); {
		case !isSet(seconds):
		case number(seconds) < leastExpiration:
			c.Invalid(seconds, "may not specify a duration less than 10 minutes")
		case number(seconds) > 1<<32:
			c.Invalid(seconds, "may not specify a duration larger than 2^32 seconds")
		}
	}
}
