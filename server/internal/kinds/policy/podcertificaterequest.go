package policy

import (
	"crypto"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/signing"
)

// Bounds in bytes of the parts of a request; the schema has that of the chain too.
const (
	maxRequestPart      = 10 << 10
	maxCertificateChain = 100 << 10
)

// StatusPodCertificateRequest keeps the metadata of a request, which a sender of the status may own all the same.
func (Policy) StatusPodCertificateRequest(obj, old document.Value) { keepMetadata(obj, old) }

// ValidatePodCertificateRequest checks the key of a new request, and the certificate that
// is issued for it.
func (p Policy) ValidatePodCertificateRequest(obj, old document.Value) []schema.Cause {
	var c causes
	if spec := obj.Get("spec"); !old.Exists() && isSet(spec.Get("maxExpirationSeconds")) {
		p.requestedKey(&c, spec)
	}
	if old.Exists() && len(podDecisions(old)) == 0 && slices.Equal(podDecisions(obj), []string{"Issued"}) {
		p.issued(&c, obj)
	}
	return c.Causes
}

// podDecisions are the decisions in the conditions of a request.
func podDecisions(request document.Value) (all []string) {
	for _, condition := range request.At("status", "conditions").Elements() {
		if kind := condition.Get("type").Text(); condition.Get("status").Equals("True") && (kind == "Issued" || kind == "Denied" || kind == "Failed") {
			all = append(all, kind)
		}
	}
	return all
}

// requestedKey checks the key of a request, and that the sender has the private one.
// Other combinations of the members are reported by the schema in 1.36; 1.35 and 1.34 have
// one form only.
func (p Policy) requestedKey(c *causes, spec document.Value) {
	stub, public, proof := bytesOf(spec.Get("stubPKCS10Request")), bytesOf(spec.Get("pkixPublicKey")), bytesOf(spec.Get("proofOfPossession"))
	if p.since("1.36") && (len(stub) > 0) == (len(public) > 0 && len(proof) > 0) {
		return
	}
	if len(stub) > 0 {
		if len(public) > 0 || len(proof) > 0 {
			return
		}
		if len(stub) > maxRequestPart {
			c.TooLong(member(spec, "stubPKCS10Request"), maxRequestPart)
		} else if _, wrong := signing.RequestedKey(stub); wrong != nil {
			c.mistaken(member(spec, "stubPKCS10Request"), document.Value{}, *wrong)
		}
		return
	}
	switch {
	case len(public) > maxRequestPart:
		c.TooLong(member(spec, "pkixPublicKey"), maxRequestPart)
		return
	case len(proof) > maxRequestPart:
		c.TooLong(member(spec, "proofOfPossession"), maxRequestPart)
		return
	}
	key, wrong := signing.PublicKey(public)
	if wrong != nil {
		c.mistaken(member(spec, "pkixPublicKey"), spec.Get("pkixPublicKey"), *wrong)
	} else if !signing.Proves(key, spec.Get("podUID").Text(), proof) {
		c.mistaken(member(spec, "proofOfPossession"), document.Value{}, signing.Mistake{Why: "could not verify proof-of-possession signature"})
	}
}

// mistaken adds the cause of a mistake, which names its own part, the value or none.
func (c *causes) mistaken(at string, v document.Value, m signing.Mistake) {
	switch {
	case m.Shown != "":
		c.InvalidText(at, m.Shown, m.Why)
	case v.Exists():
		c.InvalidAt(at, v, m.Why)
	default:
		c.Add(schema.CauseInvalid, at, "Invalid value: "+m.Why)
	}
}

// issued checks the certificate of a request that gets one, and the times that the status
// repeats.
func (p Policy) issued(c *causes, obj document.Value) {
	spec, status := obj.Get("spec"), obj.Get("status")
	chain := status.Get("certificateChain")
	if len(chain.Text()) > maxCertificateChain {
		return // reported by the schema
	}
	var key crypto.PublicKey
	at, wrong := "stubPKCS10Request", (*signing.Mistake)(nil)
	if stub := bytesOf(spec.Get(at)); len(stub) > 0 {
		key, wrong = signing.RequestedKey(stub)
	} else {
		at = "pkixPublicKey"
		key, wrong = signing.PublicKey(bytesOf(spec.Get(at)))
	}
	leaf, rest, mistakes := signing.Leaf([]byte(chain.Text()), key)
	for _, m := range mistakes {
		c.mistaken(member(status, "certificateChain"), chain, m)
	}
	if wrong != nil && key == nil {
		c.mistaken(member(spec, at), document.Value{}, *wrong)
		return
	}
	for _, name := range [...]string{"notBefore", "notAfter", "beginRefreshAt"} {
		if leaf != nil && !isSet(status.Get(name)) {
			why := "must be present and consistent with the issued certificate"
			if name == "beginRefreshAt" {
				why = "must be present and in the range [notbefore+10min, notafter-10min]"
			}
			c.Required(member(status, name), why)
		}
	}
	if len(c.Causes) > 0 {
		return
	}
	if name, why := p.wrongTime(status, leaf.NotBefore, leaf.NotAfter); why != "" {
		c.Invalid(status.Get(name), why)
		return
	}
	lifetime, most := leaf.NotAfter.Sub(leaf.NotBefore), number(spec.Get("maxExpirationSeconds"))
	shown := func(why string) {
		c.Add(schema.CauseInvalid, member(status, "certificateChain"), "Invalid value: "+strconv.FormatInt(int64(lifetime), 10)+": "+why)
	}
	switch name, why := wrongRefresh(status); {
	case lifetime < time.Hour:
		shown("leaf certificate lifetime must be >= 1 hour")
	case lifetime > time.Duration(most)*time.Second:
		shown(fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", most))
	case why != "":
		c.Invalid(status.Get(name), why)
	default:
		if why := signing.CheckRest(rest); why != "" {
			c.Invalid(chain, why)
		}
	}
}

// timeIn is a time of a status.
func timeIn(status document.Value, name string) time.Time {
	t, err := time.Parse(time.RFC3339, status.Get(name).Text())
	if err != nil {
		return time.Time{} // reported by the schema
	}
	return t
}

// wrongTime is the time of the status that disagrees with those of the certificate, and
// why.
func (p Policy) wrongTime(status document.Value, from, until time.Time) (name, why string) {
	const near = 5 * time.Minute
	switch begin, now := timeIn(status, "notBefore"), p.Now(); {
	case !begin.Equal(from):
		return "notBefore", "must be set to the NotBefore time encoded in the leaf certificate"
	case !begin.After(now.Add(-near)) || !begin.Before(now.Add(near)):
		return "notBefore", "must be set to within 5 minutes of kube-apiserver's current time"
	case !timeIn(status, "notAfter").Equal(until):
		return "notAfter", "must be set to the NotAfter time encoded in the leaf certificate"
	}
	return "", ""
}

// wrongRefresh is why the time of the next certificate is too near to the ends of this one.
func wrongRefresh(status document.Value) (name, why string) {
	const apart = 10 * time.Minute
	switch refresh := timeIn(status, "beginRefreshAt"); {
	case refresh.Before(timeIn(status, "notBefore").Add(apart)):
		return "beginRefreshAt", "must be at least 10 minutes after status.notBefore"
	case refresh.After(timeIn(status, "notAfter").Add(-apart)):
		return "beginRefreshAt", "must be at least 10 minutes before status.notAfter"
	}
	return "", ""
}
