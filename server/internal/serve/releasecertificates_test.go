package serve_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const certificatesGroup = "/apis/certificates.k8s.io/v1beta1"

func startCertificates(t *testing.T) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		emulating("1.36", "certificates.k8s.io/v1beta1=true")(c)
		c.FeatureGates = []string{"ClusterTrustBundle=true", "PodCertificateRequest=true"}
	})
}

// issuing makes certificates for tests.
type issuing struct {
	t   *testing.T
	key ed25519.PrivateKey
}

func newIssuing(t *testing.T) issuing {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuing{t, key}
}

func (i issuing) certificate(template x509.Certificate) string {
	template.SerialNumber = big.NewInt(1)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, i.key.Public(), i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestTrustBundles: a bundle has certificates of authorities, and an update that keeps them is not checked again.
func TestTrustBundles(t *testing.T) {
	h, i := startCertificates(t), newIssuing(t)
	const path = certificatesGroup + "/clustertrustbundles"
	anchor := i.certificate(x509.Certificate{IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)})
	leaf := i.certificate(x509.Certificate{NotAfter: time.Now().Add(time.Hour)})
	for _, test := range []struct{ text, causes string }{{anchor, ""}, {"", "spec.trustBundle/Invalid"}, {leaf, "spec.trustBundle/Invalid"}, {anchor + anchor, "spec.trustBundle/Invalid"}} {
		text, _ := json.Marshal(test.text)
		got := h.Post(path+"?dryRun=All", fmt.Sprintf(`{"metadata":{"name":"b"},"spec":{"trustBundle":%s}}`, text))
		if causes := causesOf(t, got.Body); causes != test.causes || (got.Code == http.StatusCreated) != (causes == "") {
			t.Errorf("%s: %d %s", test.text, got.Code, got.Body)
		}
	}
	text, _ := json.Marshal(anchor)
	h.Create(path, fmt.Sprintf(`{"metadata":{"name":"b"},"spec":{"trustBundle":%s}}`, text))
	h.MergePatch(path+"/b", `{"metadata":{"labels":{"a":"b"}}}`)
	h.Merge(path+"/b", `{"spec":{"trustBundle":"x"}}`).Expect(t, http.StatusUnprocessableEntity, "Invalid")
}

// TestPodCertificates: a request has a good key, and gets a certificate of that key whose times the status repeats.
func TestPodCertificates(t *testing.T) {
	h, i := startCertificates(t), newIssuing(t)
	const path = certificatesGroup + "/namespaces/default/podcertificaterequests"
	const request = `{"metadata":{"name":%q},"spec":{"signerName":"a.b/c","podName":"p","podUID":"u","serviceAccountName":"s","serviceAccountUID":"u",` +
		`"nodeName":"n","nodeUID":"u","maxExpirationSeconds":86400,%s}}`
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, i.key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(i.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	proof := `"pkixPublicKey":"` + encode(public) + `","proofOfPossession":"%s"`
	for _, test := range []struct{ name, key, causes string }{
		{"stub", `"stubPKCS10Request":"` + encode(stub) + `"`, ""},
		{"no-stub", `"stubPKCS10Request":"eA=="`, "spec.stubPKCS10Request/Invalid"},
		{"neither", `"stubPKCS10Request":""`, "spec/Invalid"},
		{"proved", fmt.Sprintf(proof, encode(ed25519.Sign(i.key, []byte("u")))), ""},
		{"unproved", fmt.Sprintf(proof, "eA=="), "spec.proofOfPossession/Invalid"},
	} {
		got := h.Post(path, fmt.Sprintf(request, test.name, test.key))
		if causes := causesOf(t, got.Body); causes != test.causes || (got.Code == http.StatusCreated) != (causes == "") {
			t.Errorf("%s: %d %s", test.name, got.Code, got.Body)
		}
	}
	now := time.Now().UTC().Truncate(time.Second)
	issue := func(chain string, from, until, refresh time.Time, query string) harness.Reply {
		text, _ := json.Marshal(chain)
		form := func(t time.Time) string { return t.Format(time.RFC3339) }
		return h.Merge(path+"/stub/status"+query, fmt.Sprintf(`{"status":{"conditions":[{"type":"Issued","status":"True","reason":"R","message":"m","lastTransitionTime":%q}],`+
			`"certificateChain":%s,"notBefore":%q,"notAfter":%q,"beginRefreshAt":%q}}`, form(now), text, form(from), form(until), form(refresh)))
	}
	end, refresh := now.Add(2*time.Hour), now.Add(time.Hour)
	good := i.certificate(x509.Certificate{NotBefore: now, NotAfter: end})
	for _, test := range []struct {
		name, chain          string
		from, until, refresh time.Time
		causes               string
	}{
		{"good", good, now, end, refresh, ""},
		{"with another", good + good, now, end, refresh, ""},
		{"with a text", good + "-----BEGIN OTHER-----\neA==\n-----END OTHER-----\n", now, end, refresh, "status.certificateChain/Invalid"},
		{"empty", "", now, end, refresh, "status.certificateChain/Invalid"},
		{"of another key", newIssuing(t).certificate(x509.Certificate{NotBefore: now, NotAfter: end}), now, end, refresh, "status.certificateChain/Invalid"},
		{"of an odd name", i.certificate(x509.Certificate{NotBefore: now, NotAfter: end, DNSNames: []string{"a..b"}}), now, end, refresh, "status.certificateChain/Invalid"},
		{"short", i.certificate(x509.Certificate{NotBefore: now, NotAfter: refresh.Add(-time.Second)}), now, refresh.Add(-time.Second), refresh, "status.certificateChain/Invalid"},
		{"long", i.certificate(x509.Certificate{NotBefore: now, NotAfter: now.Add(25 * time.Hour)}), now, now.Add(25 * time.Hour), refresh, "status.certificateChain/Invalid"},
		{"another begin", good, now.Add(time.Second), end, refresh, "status.notBefore/Invalid"},
		{"another end", good, now, refresh, refresh, "status.notAfter/Invalid"},
		{"an early refresh", good, now, end, now, "status.beginRefreshAt/Invalid"},
		{"a late refresh", good, now, end, end, "status.beginRefreshAt/Invalid"},
	} {
		got := issue(test.chain, test.from, test.until, test.refresh, "?dryRun=All")
		if causes := causesOf(t, got.Body); causes != test.causes || (got.Code == http.StatusOK) != (causes == "") {
			t.Errorf("%s: %d %s", test.name, got.Code, got.Body)
		}
	}
	issue(good, now, end, refresh, "").Expect(t, http.StatusOK, "")
	issue(good+good, now, end, refresh, "").Expect(t, http.StatusUnprocessableEntity, "Invalid")
}
