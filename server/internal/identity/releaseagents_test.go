package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleaseAgents: the agent of a node uses claims on devices, slices of devices, service accounts and requests for certificates of
// the pods on its node only.
func TestReleaseAgents(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.EmulatedVersion, c.AuthorizationModes = []string{"1.36"}, []string{"Node", "RBAC"}
		c.EnableAdmissionPlugins = []string{"NodeRestriction"}
		c.FeatureGates, c.RuntimeConfig = []string{"PodCertificateRequest=true"}, []string{"certificates.k8s.io/v1beta1=true"}
	})
	const (
		core, devices = "/api/v1/namespaces/default/", "/apis/resource.k8s.io/v1/"
		slices        = devices + "resourceslices"
		requests      = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests"
		csr           = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
		slice         = `{"metadata":{"name":"NODE"},"spec":{"driver":"d.example.com","nodeName":"NODE","pool":{"name":"p","resourceSliceCount":1}}}`
		none          = "no relationship found between node 'a' and this object"
	)
	block, _ := pem.Decode(signingRequest(t, ""))
	ids := map[string]string{"CSR": base64.StdEncoding.EncodeToString(block.Bytes)}
	for name, of := range map[string][2]string{"NODEUID": {"/api/v1/nodes", `{"metadata":{"name":"a"}}`}, "ACCOUNTUID": {core + "serviceaccounts", `{"metadata":{"name":"sa"}}`},
		"OTHERUID": {"/api/v1/nodes", `{"metadata":{"name":"b"}}`}} {
		ids[name], _ = h.Create(of[0], of[1]).Field(t, "metadata.uid").(string)
	}
	h.Create(core+"serviceaccounts", `{"metadata":{"name":"other"}}`)
	const spec = `"serviceAccountName":"sa","containers":[{"name":"c","image":"i"}]`
	pod := h.Create(core+"pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"a","resourceClaims":[{"name":"x","resourceClaimName":"named"},{"name":"y","resourceClaimTemplateName":"t"}],`+spec+`}}`)
	ids["PODUID"], _ = pod.Field(t, "metadata.uid").(string)
	away := h.Create(core+"pods", `{"metadata":{"name":"q"},"spec":{"nodeName":"b",`+spec+`}}`)
	ids["AWAYUID"], _ = away.Field(t, "metadata.uid").(string)
	for _, name := range []string{"named", "made", "other"} {
		h.Create(devices+"namespaces/default/resourceclaims", `{"metadata":{"name":"`+name+`"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}`)
	}
	h.Create(slices, strings.ReplaceAll(slice, "NODE", "b"))
	request := func(changes ...string) string {
		text := `{"metadata":{"generateName":"r-"},"spec":{"signerName":"example.com/s","podName":"p","podUID":"PODUID","serviceAccountName":"sa","serviceAccountUID":"ACCOUNTUID","nodeName":"a","nodeUID":"NODEUID","maxExpirationSeconds":86400,"stubPKCS10Request":"CSR"}}`
		text = strings.NewReplacer(changes...).Replace(text)
		for name, id := range ids {
			text = strings.ReplaceAll(text, `"`+name+`"`, `"`+id+`"`)
		}
		return text
	}
	sign := func(name, signer string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"signerName":"` + signer + `","usages":["digital signature","server auth"],"request":"` +
			base64.StdEncoding.EncodeToString(signingRequest(t, name)) + `"}}`
	}
	const claims, bad = devices + "namespaces/default/resourceclaims", `podcertificaterequests.certificates.k8s.io "r-" is forbidden: `
	for _, c := range []struct {
		method, path, body string
		code               int
		message            string // the end of it
	}{
		{"GET", claims + "/named", "", 200, ""},
		{"GET", claims + "/made", "", 403, none},
		{"PATCH", core + "pods/p/status", `{"status":{"resourceClaimStatuses":[{"name":"y","resourceClaimName":"made"}]}}`, 403, `pods "p" is forbidden: node "a" cannot update resource claim statues`},
		{"PATCH", core + "pods/p/status", `{"status":{"extendedResourceClaimStatus":{"resourceClaimName":"made","requestMappings":[]}}}`, 403, `pods "p" is forbidden: node "a" cannot update extended resource claim status`},
		{"ADMIN", core + "pods/p/status", `{"status":{"resourceClaimStatuses":[{"name":"y","resourceClaimName":"made"}]}}`, 200, ""},
		{"GET", claims + "/made", "", 200, ""},
		{"GET", claims + "/other", "", 403, none},
		{"GET", claims, "", 403, "can only get individual resources of this type"},
		{"PATCH", claims + "/made/status", `{}`, 403, "can only get individual resources of this type"},

		{"GET", core + "serviceaccounts/sa", "", 200, ""},
		{"GET", core + "serviceaccounts/other", "", 403, none},
		{"GET", core + "serviceaccounts", "", 403, "can only create tokens for individual service accounts"},

		{"POST", slices, strings.ReplaceAll(slice, "NODE", "b"), 403, `resourceslices.resource.k8s.io "b" is forbidden: can only create ResourceSlice with the same NodeName as the requesting node`},
		{"POST", slices, strings.ReplaceAll(slice, "NODE", "a"), 201, ""},
		{"GET", slices + "/a", "", 200, ""},
		{"GET", slices + "/b", "", 403, none},
		{"GET", slices, "", 403, "can only list/watch/deletecollection resourceslices with nodeName field selector"},
		{"GET", slices + "?fieldSelector=spec.nodeName%3Da", "", 200, ""},
		{"PATCH", slices + "/a", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
		{"DELETE", slices + "/b", "", 403, none},
		{"DELETE", slices, "", 403, "can only list/watch/deletecollection resourceslices with nodeName field selector"},
		{"DELETE", slices + "/a", "", 200, ""},

		{"POST", requests, request(`"a"`, `"b"`), 403, bad + `PodCertificateRequest.Spec.NodeName="b", which is not the requesting node "a"`},
		{"POST", requests, request("NODEUID", "OTHERUID"), 403, bad + `PodCertificateRequest for pod "default/p" names node UID "` + ids["OTHERUID"] + `", inconsistent with the running node ("` + ids["NODEUID"] + `")`},
		{"POST", requests, request(`"p"`, `"gone"`), 403, bad + `while retrieving pod "default/gone" named in the PodCertificateRequest: pod "gone" not found`},
		{"POST", requests, request("PODUID", "AWAYUID"), 403, bad + `PodCertificateRequest for pod "default/p" contains pod UID ("` + ids["AWAYUID"] + `") which differs from running pod "` + ids["PODUID"] + `"`},
		{"POST", requests, request(`"p"`, `"q"`, "PODUID", "AWAYUID"), 403, bad + `pod "default/q" is not running on node "a" named in the PodCertificateRequest`},
		{"POST", requests, request(`"sa"`, `"other"`), 403, bad + `PodCertificateRequest for pod "default/p" contains serviceAccountName ("other") that differs from running pod ("sa")`},
		{"POST", requests, request("ACCOUNTUID", "OTHERUID"), 403, bad + `PodCertificateRequest for pod "default/p" names service account UID "` + ids["OTHERUID"] + `", which differs from the running service account ("` + ids["ACCOUNTUID"] + `")`},
		{"POST", requests, request("generateName", "name", "r-", "r"), 201, ""},
		{"GET", requests + "/r", "", 200, ""},
		{"GET", requests, "", 403, "can only list/watch podcertificaterequests with nodeName field selector"},
		{"GET", requests + "?fieldSelector=spec.nodeName%3Da", "", 200, ""},
		{"PATCH", requests + "/r/status", "{}", 403, "nodes may not access the status subresource of PodCertificateRequests"},
		{"DELETE", requests + "/r", "", 403, "nodes may not delete podcertificaterequests"},

		{"POST", csr, sign("system:node:b", "kubernetes.io/kubelet-serving"), 403, `can only create a node CSR with CN=system:node:a`},
		{"POST", csr, sign("system:node:a", "kubernetes.io/kubelet-serving"), 201, ""},
		{"POST", csr, sign("system:node:b", "example.com/s"), 201, ""},
	} {
		as, kind := []string{"Impersonate-User", "system:node:a", "Impersonate-Group", "system:nodes"}, "application/json"
		if c.method == "ADMIN" {
			c.method, as = "PATCH", nil
		}
		if c.method == "PATCH" {
			kind = harness.MergePatchMedia
		}
		got := h.Send(c.method, c.path, kind, []byte(c.body), as...)
		if message, _ := got.Field(t, "message").(string); got.Code != c.code || c.code == http.StatusForbidden && !strings.HasSuffix(message, c.message) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, got.Code, got.Body, c.code, c.message)
		}
	}
}

// signingRequest is a request for a certificate of a name, in PEM form.
func signingRequest(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
