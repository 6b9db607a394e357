package command

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/webhook"
)

// A person gets a certificate that the server accepts, and an account a token; both in
// files of their owner only.
func TestKubeconfigAndToken(t *testing.T) {
	dataDir := filepath.Join(t.TempDir(), "data")
	defer serving(t, dataDir)()
	out := func(name string) string { return filepath.Join(filepath.Dir(dataDir), name) }
	code, stdout, stderr := command("kubeconfig", "--user=anna", "--group=dev", "--group=ops", "--duration=2h", "--data-dir="+dataDir, "--output="+out("anna"))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "the user anna in the groups dev, ops, signed by the authority in ") {
		t.Fatalf("code %d, %s, %s", code, stdout, stderr)
	}
	target, err := webhook.ReadKubeconfig(out("anna"))
	if err != nil {
		t.Fatal(err)
	}
	cert := target.Credentials.Certificate.Leaf
	if cert.Subject.String() != "CN=anna,O=dev+O=ops" && cert.Subject.String() != "O=dev+O=ops,CN=anna" || time.Until(cert.NotAfter) > 2*time.Hour || cert.IsCA || len(cert.ExtKeyUsage) != 1 {
		t.Errorf("got %v, %v", cert.Subject, cert.NotAfter)
	}
	block, _ := pem.Decode(target.CABundle)
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil || cert.CheckSignatureFrom(ca) != nil {
		t.Error("not of the server's authority", err)
	}
	if code, _, stderr := command("kubeconfig", "--user=root", "--group=system:masters", "--allow-masters", "--data-dir="+dataDir, "--output="+out("root")); code != 0 {
		t.Fatal(stderr)
	}
	code, _, stderr = command("kubeconfig", "--user=system:kube-scheduler", "--group=system:nodes", "--group=dev", "--data-dir="+dataDir, "--output="+out("scheduler"))
	if code != 0 || strings.Count(stderr, "warning: ") != 2 || !strings.Contains(stderr, "the user system:kube-scheduler is one of the system") || !strings.Contains(stderr, "the group system:nodes is") {
		t.Errorf("code %d, %s", code, stderr)
	}
	newAccount(t, out("root"), "robot")
	code, stdout, stderr = command("token", "create", "robot", "--namespace=kube-system", "--audience=vault", "--duration=20m", "--data-dir="+dataDir, "--output="+out("token"))
	if code != 0 || stderr != "" || !strings.Contains(stdout, "a token of the service account kube-system/robot for vault, until 2") {
		t.Fatalf("code %d, %s, %s", code, stdout, stderr)
	}
	for _, name := range []string{"anna", "token"} {
		if info, err := os.Stat(out(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// The server knows the person, without rights.
	for _, c := range []struct{ args, want string }{
		{"token create default --kubeconfig=" + out("anna"), `User "anna" cannot create resource "serviceaccounts/token"`},
		{"token create missing --data-dir=" + dataDir, "not found"},
		{"token create robot --namespace=kube-system --duration=1m --data-dir=" + dataDir, "spec.expirationSeconds: Invalid value: 60"},
		{"token create --data-dir=" + dataDir, "name one service account"},
		{"token create a --bound-object-kind=Pod", "belong together"},
		{"token create a --bound-object-uid=1", "needs --bound-object-kind"},
		{"token create a --data-dir=/nowhere", "/nowhere/admin.kubeconfig: no such file; name the data directory of the server (--data-dir)"},
		{"kubeconfig --user=anna --data-dir=" + dataDir + " --output=" + out("anna"), "exists; remove it"},
		{"kubeconfig --data-dir=" + dataDir, "--user: empty"},
		{"kubeconfig --user=a --duration=0s", "--duration: not a time to come"},
		{"kubeconfig --user=a --group=system:masters --data-dir=" + dataDir, "--allow-masters"},
		{"kubeconfig --user=a --data-dir=/nowhere", "has no authority"},
	} {
		if code, _, stderr := command(strings.Fields(c.args)...); code != codeFor(strings.Contains(stderr, "for usage")) || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: code %d, %s", c.args, code, stderr)
		}
	}
	if code, stdout, stderr := command("token", "create", "robot", "--namespace=kube-system", "--kubeconfig="+out("root")); code != 0 || strings.Count(stdout, ".") != 2 || !strings.Contains(stderr, "token of the service account") {
		t.Errorf("code %d, %d bytes, %s", code, len(stdout), stderr)
	}
}

// newAccount makes a service account in kube-system.
func newAccount(t *testing.T, kubeconfig, name string) {
	t.Helper()
	target, err := webhook.ReadKubeconfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	target.URL += "/api/v1/namespaces/kube-system/serviceaccounts"
	client, err := webhook.New(target, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Call(t.Context(), webhook.Call{Body: []byte(`{"metadata":{"name":"` + name + `"}}`), Timeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
}
