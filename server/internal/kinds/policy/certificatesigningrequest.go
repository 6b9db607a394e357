package policy

import (
	"encoding/base64"
	"slices"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/signing"

	"k8s.io/apimachinery/pkg/util/duration"
)

// decisions are the conditions that cannot be removed.
var decisions = [...]string{"Approved", "Denied", "Failed"}

// ValidateCertificateSigningRequest checks a request. Its decisions cannot be removed,
// and its certificate cannot be replaced.
func (Policy) ValidateCertificateSigningRequest(obj, old document.Value) []schema.Cause {
	var c causes
	if spec := obj.Get("spec"); !old.Exists() || !document.Equal(spec, old.Get("spec")) {
		c.signingSpec(spec)
	}
	status, before := obj.Get("status"), old.Get("status")
	c.signingConditions(status.Get("conditions"), before.Get("conditions"))
	certificate, was := status.Get("certificate"), before.Get("certificate")
	replaced := !document.Equal(certificate, was)
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
	if document.Equal(conditions, before) {
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
