package signing

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The built-in signers besides ClientSigner.
const (
	// NodeClientSigner is the signer of the certificates by which nodes log in.
	NodeClientSigner = profile.LabelDomain + "/kube-apiserver-client-kubelet"
	// NodeServingSigner is the signer of the certificates that nodes serve with.
	NodeServingSigner = profile.LabelDomain + "/kubelet-serving"
	// LegacySigner is the signer of older releases, without a promise about its
	// certificates.
	LegacySigner = profile.LabelDomain + "/legacy-unknown"
)

// The subject of the certificates of nodes.
const (
	nodeUser  = "system:node:"
	nodeGroup = "system:nodes"
	masters   = "system:masters"
)

// Usages of certificates that the built-in signers know.
const (
	digitalSignature = "digital signature"
	keyEncipherment  = "key encipherment"
	clientAuth       = "client auth"
	serverAuth       = "server auth"
)

// BuiltIn reports whether a signer is one of the server's own.
func BuiltIn(signer string) bool {
	return slices.Contains([]string{ClientSigner, NodeClientSigner, NodeServingSigner, LegacySigner}, signer)
}

// Check reports the first rule of a built-in signer that a request breaks. In addition to
// the rules of 1.25, no signer gives out the group that may do everything, and requests
// have to be signed by the key that they are for.
func Check(signer string, request *x509.CertificateRequest, usages []string) error {
	if err := checkSigner(signer, request, usages); err != nil {
		return err
	}
	if slices.Contains(request.Subject.Organization, masters) {
		return fmt.Errorf("subject organization %s is not allowed", masters)
	}
	if err := request.CheckSignature(); err != nil {
		return fmt.Errorf("unable to verify certificate request signature: %w", err)
	}
	return nil
}

func checkSigner(signer string, request *x509.CertificateRequest, usages []string) error {
	switch signer {
	case ClientSigner:
		return checkClient(usages)
	case NodeClientSigner:
		return CheckNodeClient(request, usages)
	case NodeServingSigner:
		return checkNodeServing(request, usages)
	case LegacySigner:
		return nil
	}
	return fmt.Errorf("unrecognized signerName: %q", signer)
}

func checkClient(usages []string) error {
	for _, usage := range usages {
		if usage != digitalSignature && usage != keyEncipherment && usage != clientAuth {
			return fmt.Errorf("invalid usage for client certificate: %s", usage)
		}
	}
	if !slices.Contains(usages, clientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", clientAuth)
	}
	return nil
}

// CheckNodeClient reports the first reason why a request is not one for the client
// certificate of a node.
func CheckNodeClient(request *x509.CertificateRequest, usages []string) error {
	switch {
	case !slices.Equal(request.Subject.Organization, []string{nodeGroup}):
		return errNodeGroup
	case len(request.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(request.EmailAddresses) > 0:
		return errEmail
	case len(request.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(request.URIs) > 0:
		return errURI
	case !strings.HasPrefix(request.Subject.CommonName, nodeUser):
		return errNodeUser
	}
	return nodeUsages(usages, clientAuth)
}

func checkNodeServing(request *x509.CertificateRequest, usages []string) error {
	switch {
	case !slices.Equal(request.Subject.Organization, []string{nodeGroup}):
		return errNodeGroup
	case len(request.DNSNames) == 0 && len(request.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(request.EmailAddresses) > 0:
		return errEmail
	case len(request.URIs) > 0:
		return errURI
	}
	if err := nodeUsages(usages, serverAuth); err != nil {
		return err
	}
	if !strings.HasPrefix(request.Subject.CommonName, nodeUser) {
		return errNodeUser
	}
	return nil
}

var (
	errNodeGroup = errors.New("subject organization is not " + nodeGroup)
	//lint:ignore ST1005 the words of 1.25, which clients see
	errNodeUser = errors.New("subject common name does not begin with " + nodeUser)
	//lint:ignore ST1005 the words of 1.25, which clients see
	errEmail = errors.New("Email subjectAltNames are not allowed")
	errURI   = errors.New("URI subjectAltNames are not allowed")
)

// nodeUsages checks the usages of a node's certificate: signatures, its purpose and, for
// RSA keys, the encipherment of keys.
func nodeUsages(usages []string, purpose string) error {
	set := slices.Compact(slices.Sorted(slices.Values(usages)))
	all := slices.Sorted(slices.Values([]string{digitalSignature, keyEncipherment, purpose}))
	few := slices.DeleteFunc(slices.Clone(all), func(usage string) bool { return usage == keyEncipherment })
	if !slices.Equal(set, all) && !slices.Equal(set, few) {
		return fmt.Errorf("usages did not match %v", all)
	}
	return nil
}
