package policy

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/signing"

	"k8s.io/apimachinery/pkg/util/duration"
)

// The greatest lengths of a signer's name and of the path after its slash, in bytes.
const (
	maxSignerName = 571
	maxSignerPath = 253
)

// decisions are the conditions that cannot be removed.
var decisions = [...]string{"Approved", "Denied", "Failed"}

// ValidateCertificateSigningRequest checks a request. Its decisions cannot be removed,
// and its certificate cannot be replaced.
func (Policy) ValidateCertificateSigningRequest(obj, old document.Value) []schema.Cause {
	var c causes
	if spec := obj.Get("spec"); !old.Exists() || !same(spec, old.Get("spec")) {
		c.signingSpec(spec)
	}
	status, before := obj.Get("status"), old.Get("status")
	c.signingConditions(status.Get("conditions"), before.Get("conditions"))
	certificate, was := status.Get("certificate"), before.Get("certificate")
	replaced := !same(certificate, was)
	if replaced {
		if err := signing.CheckCertificates(bytesOf(certificate)); err != nil {
			c.InvalidText(member(status, "certificate"), "<certificate data>", err.Error())
		}
	}
	c.keptDecisions(status.Get("conditions"), before.Get("conditions"))
	if replaced && !isEmpty(was) {
		c.Forbidden(member(status, "certificate"), "updates may not modify existing certificate content")
	}
	return c.Causes
}

// bytesOf decodes a base64 string; it is empty if the string is malformed.
func bytesOf(v document.Value) []byte {
	data, err := base64.StdEncoding.DecodeString(v.Text())
	if err != nil {
		return nil
	}
	return data
}

func (c *causes) signingSpec(spec document.Value) {
	if _, err := signing.ParseRequest(bytesOf(spec.Get("request"))); err != nil {
		c.InvalidAt(member(spec, "request"), spec.Get("request"), "unable to parse csr: "+err.Error())
	}
	if name := spec.Get("signerName"); !isEmpty(name) { // the schema reports it if it is missing
		c.signerName(name)
	}
}

// signerName checks the form domain/path.
func (c *causes) signerName(v document.Value) {
	name := v.Text()
	if name == labelDomain+"/legacy-unknown" {
		c.Invalid(v, "the legacy signerName is not allowed via this API version")
		return
	}
	domain, path, _ := strings.Cut(name, "/")
	if strings.Count(name, "/") != 1 {
		c.Invalid(v, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
		return
	}
	for _, problem := range document.CheckFormat("dns1123-subdomain", domain) {
		c.InvalidText(v.Path(), domain, problem)
	}
	if !strings.Contains(domain, ".") {
		c.InvalidText(v.Path(), domain, "should be a domain with at least two segments separated by dots")
	}
	for _, part := range strings.Split(path, ".") {
		for _, problem := range document.CheckFormat("dns1123-subdomain", part) {
			c.InvalidText(v.Path(), part, problem)
		}
	}
	if len(path) > maxSignerPath {
		c.TooLong(v.Path(), maxSignerPath)
	}
	if len(name) > maxSignerName {
		c.TooLong(v.Path(), maxSignerName)
	}
}

// keptDecisions checks that no earlier decision is missing.
func (c *causes) keptDecisions(conditions, before document.Value) {
	for _, decision := range decisions {
		if signing.Has(before, decision) && !signing.Has(conditions, decision) {
			c.Forbidden("status.conditions", "updates may not remove a condition of type "+strconv.Quote(decision))
		}
	}
}

// signingConditions checks conditions that have changed.
func (c *causes) signingConditions(conditions, before document.Value) {
	if same(conditions, before) {
		return
	}
	var seen document.Texts
	for _, condition := range conditions.Elements() {
		kind, status := condition.Get("type"), condition.Get("status")
		switch {
		case isEmpty(status): // the schema reports it
		case slices.Contains(decisions[:], kind.Text()):
			if !status.Equals("True") {
				c.NotSupported(status, "True")
			}
		default:
			c.oneOf(condition, "status", "True", "False", "Unknown")
		}
		if kind.Equals("Denied") && seen.Has("Approved") || kind.Equals("Approved") && seen.Has("Denied") {
			c.Invalid(kind, "Approved and Denied conditions are mutually exclusive")
		}
		if before := len(c.Causes); !seen.Add(kind.Text()) {
			c.Duplicate(kind)
			c.PlaceAt(before, condition.Path())
		}
	}
}

// CellCertificateSigningRequestRequestedDuration shows the requested lifetime.
func (Policy) CellCertificateSigningRequestRequestedDuration(obj document.Value) any {
	seconds := obj.At("spec", "expirationSeconds")
	if !isSet(seconds) {
		return "<none>"
	}
	return duration.HumanDuration(time.Duration(number(seconds)) * time.Second)
}
