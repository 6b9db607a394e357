package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/doctor"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// found are the findings of an examination, "severity check: text", without those about the disk, the
// limits and the time server of the machine.
func found(t *testing.T, s *doctor.Subject) (all []string) {
	t.Helper()
	for _, f := range doctor.Examine(context.Background(), s).Findings {
		if f.Remedy == "" {
			t.Errorf("%s: %s has no remedy", f.Check, f.Text)
		}
		if f.Check != "disk" && f.Check != "limits of the system" && !strings.Contains(f.Text, "time server") {
			all = append(all, string(f.Severity)+" "+f.Check+": "+f.Text)
		}
	}
	return all
}

// expect compares findings with the wanted ones, by their beginnings.
func expect(t *testing.T, have []string, want ...string) {
	t.Helper()
	wrong := len(have) != len(want)
	for i := 0; !wrong && i < len(want); i++ {
		wrong = !strings.HasPrefix(have[i], want[i])
	}
	if wrong {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(have, "\n  "), strings.Join(want, "\n  "))
	}
}

func subject(t *testing.T) *doctor.Subject {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &doctor.Subject{DataDir: dir, CertDir: filepath.Join(dir, "pki"), Address: "127.0.0.1:0", Now: time.Now()}
}

// TestMachine: each wrong condition of a machine is one finding, and a right one none.
func TestMachine(t *testing.T) {
	s := subject(t)
	expect(t, found(t, s))

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s.Address = taken.Addr().String()
	expect(t, found(t, s), fmt.Sprintf("problem port: the process %d (doctor.test) listens on %s", os.Getpid(), s.Address))
	s.Address = "192.0.2.1:6443"
	expect(t, found(t, s), "problem port: 192.0.2.1:6443 is not an address of this machine")
	s.Address = "127.0.0.1:0"

	opened, err := store.Open(store.Config{Dir: filepath.Join(s.DataDir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s), fmt.Sprintf("problem data directory: the process %d (doctor.test) has the store open, and no server answers", os.Getpid()))
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s))
	s.Now = s.Now.Add(-time.Hour)
	expect(t, found(t, s), "problem clock: the store was written at ")
	s.Now = time.Now()
	if err := os.Chmod(s.DataDir, 0o750); err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s), "warning data directory: other users of the machine may look into "+s.DataDir+" (mode 0750)")
	s.DataDir = filepath.Join(s.DataDir, "store", "LOCK")
	expect(t, found(t, s), "problem data directory: "+s.DataDir+" is not a directory")
}

// TestCertificates: ended and ending certificates, and keys of others, are found.
func TestCertificates(t *testing.T) {
	s := subject(t)
	if err := os.Mkdir(s.CertDir, 0o700); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	issue(t, s, "a-good", x509.Certificate{})
	issue(t, s, "b-ended", x509.Certificate{NotAfter: s.Now.Add(-day / 2)})
	issue(t, s, "c-ending", x509.Certificate{NotAfter: s.Now.Add(2 * day)})
	issue(t, s, "d-later", x509.Certificate{NotBefore: s.Now.Add(day)})
	issue(t, s, "e-other", x509.Certificate{})
	issue(t, s, "another", x509.Certificate{})
	if err := errors.Join(os.Rename(filepath.Join(s.CertDir, "another.key"), filepath.Join(s.CertDir, "e-other.key")), os.Remove(filepath.Join(s.CertDir, "another.crt"))); err != nil {
		t.Fatal(err)
	}
	write(t, s, "f-none.crt", "NOTHING", []byte("x"))
	at := func(name string) string { return filepath.Join(s.CertDir, name) }
	expect(t, found(t, s), "problem certificates: "+at("b-ended.crt")+": the certificate of b-ended ended on ",
		"warning certificates: "+at("c-ending.crt")+": the certificate of c-ending ends on ",
		"problem certificates: "+at("d-later.crt")+": the certificate of d-later counts from ",
		"problem certificates: "+at("e-other.key")+" is not the key of "+at("e-other.crt"),
		"problem certificates: "+at("f-none.crt")+" has no certificate")
}

// TestNamedCertificates: those that flags name are for their use and for the address.
func TestNamedCertificates(t *testing.T) {
	s := subject(t)
	named := filepath.Join(s.DataDir, "named")
	s.CertDir = named
	if err := os.Mkdir(named, 0o700); err != nil {
		t.Fatal(err)
	}
	issue(t, s, "serving", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}})
	issue(t, s, "client", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	issue(t, s, "authority", x509.Certificate{IsCA: true, BasicConstraintsValid: true})
	s.CertDir = filepath.Join(s.DataDir, "pki")
	at := func(name string) string { return filepath.Join(named, name) }
	look := func(address string, role doctor.Role, name, key string, want ...string) {
		t.Helper()
		if s.Certificates = []doctor.Certificate{{File: at(name), Key: at(key), Role: role}}; key == "" {
			s.Certificates[0].Key = ""
		}
		s.Address = address
		have := slices.DeleteFunc(found(t, s), func(f string) bool { return strings.Contains(f, " port: ") })
		expect(t, have, want...)
	}
	look("192.0.2.1:6443", doctor.Serving, "serving.crt", "serving.key")
	look("127.0.0.1:0", doctor.Serving, "serving.crt", "serving.key")
	look("0.0.0.0:0", doctor.Serving, "serving.crt", "serving.key")
	look("192.0.2.2:6443", doctor.Serving, "serving.crt", "serving.key", "warning certificates: "+at("serving.crt")+": the certificate of serving is not for 192.0.2.2, ")
	look("127.0.0.1:0", doctor.Serving, "client.crt", "client.key", "problem certificates: "+at("client.crt")+": the certificate of client is not for servers ")
	look("127.0.0.1:0", doctor.Client, "client.crt", "client.key")
	look("127.0.0.1:0", doctor.Client, "serving.crt", "serving.key", "problem certificates: "+at("serving.crt")+": the certificate of serving is not for clients ")
	look("127.0.0.1:0", doctor.Client, "client.crt", "serving.key", "problem certificates: "+at("serving.key")+" is not the key of "+at("client.crt"))
	look("127.0.0.1:0", doctor.Authority, "authority.crt", "")
	look("127.0.0.1:0", doctor.Authority, "client.crt", "", "warning certificates: "+at("client.crt")+": the certificate of client is not that of an authority ")
	look("127.0.0.1:0", doctor.Client, "client.crt", "none.key", "problem certificates: open "+at("none.key"))
	look("127.0.0.1:0", doctor.Client, "none.crt", "client.key", "problem certificates: open "+at("none.crt"))
}

// TestWebhooks: a webhook that answers with a certificate of its bundle is fine; one of another authority is
// a finding, and so is a service without endpoints.
func TestWebhooks(t *testing.T) {
	s := subject(t)
	s.Kubeconfig = filepath.Join(s.DataDir, "elsewhere.kubeconfig")
	h := harness.Start(t, func(c *server.Config) { c.KubeconfigFile = s.Kubeconfig })
	hook := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(hook.Close)
	hook.Config.ErrorLog = log.New(io.Discard, "", 0)
	configure := func(name, policy, reach string) {
		t.Helper()
		h.Post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", `{"metadata":{"name":"`+name+`"},"webhooks":[{"name":"`+name+`.example.com",
			"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"`+policy+`","clientConfig":{`+reach+`},
			"rules":[{"apiGroups":["x"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["ys"]}]}]}`).Expect(t, 201, "")
	}
	bundle := func(der []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	configure("fine", "Fail", `"url":"`+hook.URL+`","caBundle":"`+bundle(hook.Certificate().Raw)+`"`)
	expect(t, found(t, s))
	other, _ := pem.Decode(h.Running.CA())
	configure("other", "Fail", `"url":"`+hook.URL+`","caBundle":"`+bundle(other.Bytes)+`"`)
	h.Post("/api/v1/namespaces/default/services", `{"metadata":{"name":"quiet"},"spec":{"ports":[{"port":443}]}}`).Expect(t, 201, "")
	configure("quiet", "Ignore", `"service":{"namespace":"default","name":"quiet"}`)
	expect(t, found(t, s), "problem webhooks: the webhook other.example.com (other) cannot be reached from here: tls: failed to verify certificate",
		"warning webhooks: the webhook quiet.example.com (quiet) cannot be reached from here: the service quiet in the namespace default has no ready endpoint")
}

// TestConversionWebhooks: a definition whose webhook converts between versions is a problem while the webhook does not
// answer, and a warning while there is one version.
func TestConversionWebhooks(t *testing.T) {
	s := subject(t)
	s.Kubeconfig = filepath.Join(s.DataDir, "elsewhere.kubeconfig")
	h := harness.Start(t, func(c *server.Config) { c.KubeconfigFile = s.Kubeconfig })
	hook := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(hook.Close)
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))
	define := func(plural, place string, versions ...string) {
		t.Helper()
		var all []string
		for i, v := range versions {
			all = append(all, fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`, v, i == 0))
		}
		h.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"`+plural+`.example.com"},"spec":{"group":"example.com",
			"scope":"Namespaced","names":{"plural":"`+plural+`","kind":"`+strings.ToUpper(plural)+`"},"versions":[`+strings.Join(all, ",")+`],
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{`+place+`}}}}}`).Expect(t, 201, "")
		h.AwaitText("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+plural+".example.com", `"type":"Established"`)
	}
	define("boats", `"url":"`+hook.URL+`","caBundle":"`+bundle+`"`, "v1", "v1beta1")
	expect(t, found(t, s))
	define("rafts", `"service":{"namespace":"default","name":"nobody"}`, "v1", "v1beta1")
	define("ships", `"service":{"namespace":"default","name":"nobody"}`, "v1")
	hook.Close()
	const unreached = "cannot be reached from here: "
	expect(t, found(t, s), "problem webhooks: the webhook that converts boats.example.com "+unreached+"dial tcp",
		"problem webhooks: the webhook that converts rafts.example.com "+unreached+"there is no service nobody in the namespace default",
		"warning webhooks: the webhook that converts ships.example.com "+unreached)
}

// TestServer: each wrong object of a running server is a finding.
func TestServer(t *testing.T) {
	s := subject(t)
	s.Kubeconfig = filepath.Join(s.DataDir, "elsewhere.kubeconfig")
	h := harness.Start(t, func(c *server.Config) { c.KubeconfigFile = s.Kubeconfig })
	expect(t, found(t, s))

	h.Post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"gone"},"webhooks":[
		{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Fail","clientConfig":{"service":{"namespace":"default","name":"nobody"}},
		"rules":[{"apiGroups":["x"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["ys"]}]}]}`).Expect(t, 201, "")
	h.Post("/apis/apiregistration.k8s.io/v1/apiservices", `{"metadata":{"name":"v1.far.example.com"},"spec":{"group":"far.example.com","version":"v1",
		"groupPriorityMinimum":10,"versionPriority":10,"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"nobody"}}}`).Expect(t, 201, "")
	h.AwaitText("/apis/apiregistration.k8s.io/v1/apiservices/v1.far.example.com", `"status":"False"`)
	definition := `{"metadata":{"name":"PLURAL.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"PLURAL","kind":"Shoe","listKind":"ShoeList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`
	for _, plural := range []string{"shoes", "boots"} { // both want the kind
		h.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.ReplaceAll(definition, "PLURAL", plural)).Expect(t, 201, "")
		h.AwaitText("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+plural+".example.com", `"type":"Established"`)
	}
	h.AwaitText("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boots.example.com", `"NamesAccepted","status":"False"`)
	h.Get("/apis/policy/v1beta1/poddisruptionbudgets")
	h.Get("/apis/flowcontrol.apiserver.k8s.io/v1beta1/flowschemas").Expect(t, 200, "")
	have := found(t, s)
	for _, want := range []string{"problem webhooks: the webhook a.example.com (gone) cannot be reached from here: there is no service nobody in the namespace default",
		"problem definitions: the definition boots.example.com: ", "problem extension servers: the API service v1.far.example.com is not available: ",
		"warning deprecated versions: clients use flowschemas in the deprecated version flowcontrol.apiserver.k8s.io/v1beta1"} {
		if !slices.ContainsFunc(have, func(f string) bool { return strings.HasPrefix(f, want) }) {
			t.Errorf("%s is not found in\n  %s", want, strings.Join(have, "\n  "))
		}
	}
	if err := os.WriteFile(s.Kubeconfig, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s), "problem server: ")
}

// write writes a PEM file into the directory of certificates.
func write(t *testing.T, s *doctor.Subject, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.CertDir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// issue writes a certificate with the name, signed by itself, and its key. It counts from yesterday on for 90 days
// unless it says otherwise.
func issue(t *testing.T, s *doctor.Subject, name string, of x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	if of.NotBefore.IsZero() {
		of.NotBefore = s.Now.Add(-day)
	}
	if of.NotAfter.IsZero() {
		of.NotAfter = s.Now.Add(90 * day)
	}
	of.SerialNumber, of.Subject = big.NewInt(1), pkix.Name{CommonName: name}
	cert, err := x509.CreateCertificate(rand.Reader, &of, &of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, name+".crt", "CERTIFICATE", cert)
	write(t, s, name+".key", "PRIVATE KEY", private)
}
