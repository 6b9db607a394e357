package admission

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/signing"
)

// Approving or signing a certificate signing request needs a permission for its signer:
// the verb approve or sign on the resource signers, by the signer's name or for all names
// of its domain.

func (r *Request) isSigning() bool {
	return r.Resource.Role == api.RoleSigningRequests
}

// signing is the endpoint of a certificate signing request that the write uses; "" for
// others.
func (r *Request) signing() api.Endpoint {
	if sub := r.Resource.Subresource(r.Subresource); sub != nil && r.isSigning() {
		return sub.Endpoint
	}
	return ""
}

// approve requires the permission to approve.
func (g *Guard) approve(ctx context.Context, r *Request) error {
	if r.signing() != api.EndpointApproval {
		return nil
	}
	return g.permitted(ctx, r, "approve")
}

// sign requires the permission to sign when the fields of a signer have changed.
func (g *Guard) sign(ctx context.Context, r *Request) error {
	if r.signing() != api.EndpointStatus || r.Operation != Update {
		return nil
	}
	status, old := r.Object.Get("status"), r.Old.Get("status")
	if equal(status.Get("certificate"), old.Get("certificate")) && equal(status.Get("conditions"), old.Get("conditions")) {
		return nil
	}
	return g.permitted(ctx, r, "sign")
}

func equal(a, b document.Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || document.Equal(a, b))
}

func (g *Guard) permitted(ctx context.Context, r *Request, verb string) error {
	if r.User == nil {
		return nil // the server itself
	}
	signer := r.Old.At("spec", "signerName").Text()
	allowed, err := g.mayUseSigner(ctx, r, verb, signer)
	if err == nil && !allowed {
		err = r.forbidf("user not permitted to %s requests with signerName %q", verb, signer)
	}
	return err
}

// mayUseSigner reports whether the user may do something with a signer, or with all of its domain.
func (g *Guard) mayUseSigner(ctx context.Context, r *Request, verb, signer string) (allowed bool, err error) {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range [...]string{signer, domain + "/*"} {
		allowed, _, err := g.Rights.May(ctx, r.User, Right{Verb: verb, Group: r.Resource.GV.Group, Version: "*", Resource: "signers", Name: name})
		if err != nil || allowed {
			return allowed, err
		}
	}
	return false, nil
}

// attest requires the permission to speak for the signer that a bundle of trusted certificates names.
func (g *Guard) attest(ctx context.Context, r *Request) error {
	signer := r.Object.At("spec", "signerName").Text()
	if !r.is(certificatesGroup, "clustertrustbundles") || r.Operation == Delete || r.User == nil || signer == "" || r.OnlyCollected() {
		return nil
	}
	allowed, err := g.mayUseSigner(ctx, r, "attest", signer)
	if err == nil && !allowed {
		err = r.forbidf("user not permitted to attest for signerName %q", signer)
	}
	return err
}

// signingRequest is the PKCS#10 request in a request for a certificate.
func signingRequest(obj document.Value) (*x509.CertificateRequest, error) {
	data, err := base64.StdEncoding.DecodeString(obj.At("spec", "request").Text())
	if err != nil {
		return nil, err
	}
	return signing.ParseRequest(data)
}

// restrictSubject refuses client certificates for the group that may do everything, since
// they could not be revoked.
func (g *Guard) restrictSubject(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.isSigning() || !r.Object.At("spec", "signerName").Equals(signing.ClientSigner) {
		return nil
	}
	request, err := signingRequest(r.Object)
	if err != nil {
		return r.forbidf("failed to parse CSR: %v", err)
	}
	if slices.Contains(request.Subject.Organization, authn.GroupMasters) {
		return r.forbidf("use of %s signer with %s group is not allowed", signing.ClientSigner, authn.GroupMasters)
	}
	return nil
}
