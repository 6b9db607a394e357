package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
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

// found are the findings of an examination, "severity check: text", without those about the speed and the
// kind of the machine's disk.
func found(t *testing.T, s *doctor.Subject) (all []string) {
	t.Helper()
	for _, f := range doctor.Examine(context.Background(), s).Findings {
		if f.Remedy == "" {
			t.Errorf("%s: %s has no remedy", f.Check, f.Text)
		}
		if f.Check != "disk" && f.Check != "limits of the system" {
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
	expect(t, found(t, s), "problem port: another program listens on "+s.Address)
	s.Address = "192.0.2.1:6443"
	expect(t, found(t, s), "problem port: 192.0.2.1:6443 is not an address of this machine")
	s.Address = "127.0.0.1:0"

	opened, err := store.Open(store.Config{Dir: filepath.Join(s.DataDir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s), "problem data directory: a process has the store open, and no server answers")
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	expect(t, found(t, s))
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
	write := func(name, kind string, der []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(s.CertDir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issue := func(name string, begins, ends time.Duration, ownKey bool) {
		t.Helper()
		var keys []*ecdsa.PrivateKey
		for range 2 {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		of := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: s.Now.Add(begins), NotAfter: s.Now.Add(ends)}
		cert, err := x509.CreateCertificate(rand.Reader, &of, &of, keys[0].Public(), keys[0])
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(keys[map[bool]int{true: 0, false: 1}[ownKey]])
		if err != nil {
			t.Fatal(err)
		}
		write(name+".crt", "CERTIFICATE", cert)
		write(name+".key", "PRIVATE KEY", private)
	}
	const day = 24 * time.Hour
	issue("a-good", -day, 90*day, true)
	issue("b-ended", -2*day, -day, true)
	issue("c-ending", -day, 2*day, true)
	issue("d-later", day, 90*day, true)
	issue("e-other", -day, 90*day, false)
	write("f-none.crt", "NOTHING", []byte("x"))
	at := func(name string) string { return filepath.Join(s.CertDir, name) }
	expect(t, found(t, s), "problem certificates: "+at("b-ended.crt")+": the certificate of b-ended ended on ",
		"warning certificates: "+at("c-ending.crt")+": the certificate of c-ending ends on ",
		"problem certificates: "+at("d-later.crt")+": the certificate of d-later counts from ",
		"problem certificates: "+at("e-other.key")+" is not the key of "+at("e-other.crt"),
		"problem certificates: "+at("f-none.crt")+" has no certificate")
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
