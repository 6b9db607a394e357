package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// extensionServer is a running process of upstream's sample extension server.
type extensionServer struct {
	port string
	ca   []byte
	log  lockedBuffer
}

// startWardle builds the sample server from its module and starts it: it delegates
// authentication and authorization to the server of a kubeconfig.
func startWardle(t *testing.T, kubeconfig string) *extensionServer {
	t.Helper()
	dir := t.TempDir()
	binary := os.Getenv("WARDLE")
	if binary == "" {
		binary = filepath.Join(dir, "wardle")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = "wardle"
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building wardle: %v\n%s", err, out)
		}
	}
	x := &extensionServer{}
	crt, key, err := cert.GenerateSelfSignedCertKey("wardle.default.svc", nil, []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	x.ca = crt
	for name, text := range map[string][]byte{"tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, x.port, _ = net.SplitHostPort(l.Addr().String())
	_ = l.Close() // the server takes no listener, and 0 turns its port off
	cmd := exec.Command(binary, "--etcd-dir", filepath.Join(dir, "etcd"), "--bind-address", "127.0.0.1", "--secure-port", x.port, "--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key",
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--disable-admission-plugins", "ValidatingAdmissionPolicy,MutatingAdmissionPolicy") // which wait for kinds that 1.25 lacks
	cmd.Dir, cmd.Stderr, cmd.Stdout = dir, &x.log, &x.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		if t.Failed() {
			t.Logf("wardle: %s", x.log.String())
		}
	})
	return x
}

// ask sends a request to the extension server itself.
func (x *extensionServer) ask(t *testing.T, token, path string) (int, string) {
	t.Helper()
	client, err := rest.HTTPClientFor(&rest.Config{Host: "https://localhost:" + x.port, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: x.ca, ServerName: "wardle.default.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get("https://localhost:" + x.port + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestWardle: kubectl works with the objects of upstream's sample extension server, which
// asks back who its clients are and what they may do.
func TestWardle(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("builds an API server with etcd, minutes without a cache: make stress")
	}
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("ann-token,ann,1,system:masters\nbob-token,bob,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, "", "--token-auth-file", tokens)
	x := startWardle(t, server.kubeconfig)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	kubectl := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, binaries.kubectl, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+server.kubeconfig, "HOME="+t.TempDir())
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	kubectl(fmt.Sprintf(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Service","metadata":{"name":"wardle","namespace":"default"},"spec":{"type":"ExternalName","externalName":"localhost"}},
		{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1",
			"groupPriorityMinimum":1000,"versionPriority":15,"service":{"name":"wardle","namespace":"default","port":%s},"caBundle":%q}},
		{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1beta1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1beta1",
			"groupPriorityMinimum":1000,"versionPriority":5,"service":{"name":"wardle","namespace":"default","port":%s},"caBundle":%q}}]}`,
		x.port, base64.StdEncoding.EncodeToString(x.ca), x.port, base64.StdEncoding.EncodeToString(x.ca)), "apply", "-f", "-")
	kubectl("", "wait", "--for=condition=Available", "--timeout=90s", "apiservice/v1alpha1.wardle.example.com", "apiservice/v1beta1.wardle.example.com")

	watch := exec.CommandContext(ctx, binaries.kubectl, "get", "flunders", "--watch", "-o", "name")
	watch.Env = append(os.Environ(), "KUBECONFIG="+server.kubeconfig, "HOME="+t.TempDir())
	var seen lockedBuffer
	watch.Stdout, watch.Stderr = &seen, &seen
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Process.Kill(); _ = watch.Wait() })

	flunder := `{"apiVersion":"wardle.example.com/v1alpha1","kind":"Flunder","metadata":{"name":"first","labels":{"sample-label":"true"}}}`
	for _, step := range []struct {
		in, args, want string
	}{
		{"", "api-resources --api-group=wardle.example.com -o name", "fischers.wardle.example.com\nflunders.wardle.example.com\n"},
		{"", "api-versions", "wardle.example.com/v1alpha1\nwardle.example.com/v1beta1\n"},
		{flunder, "create -f -", "flunder.wardle.example.com/first created"},
		{flunder, "apply --server-side --force-conflicts -f -", "flunder.wardle.example.com/first serverside-applied"},
		{"", "get flunders", "first"},
		{"", "get flunders.v1beta1.wardle.example.com first -o jsonpath={.apiVersion}", "wardle.example.com/v1beta1"},
		{"", "label flunder first colour=blue", "flunder.wardle.example.com/first labeled"},
		{"", "get flunders -l colour=blue -o name", "flunder.wardle.example.com/first"},
		{"", "explain flunders", "KIND:       Flunder"},
		{"", "get --raw /openapi/v3/apis/wardle.example.com/v1alpha1", `"kind":"Flunder"`},
		{"", "get --raw /openapi/v2", "/apis/wardle.example.com/v1alpha1/namespaces/{namespace}/flunders"},
		{"", "delete flunder first", "deleted"},
	} {
		if got := kubectl(step.in, strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Errorf("kubectl %s: %s", step.args, got)
		}
	}
	for end := time.Now().Add(20 * time.Second); !bytes.Contains([]byte(seen.String()), []byte("flunder.wardle.example.com/first\n")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the watch shows %q", seen.String())
		}
	}

	// The extension server asks this server about clients of its own.
	const path = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders"
	for token, want := range map[string]int{"ann-token": http.StatusOK, "bob-token": http.StatusForbidden, "wrong": http.StatusUnauthorized} {
		if code, text := x.ask(t, token, path); code != want {
			t.Errorf("%s at the extension server itself: %d %s", token, code, text)
		}
	}
}
