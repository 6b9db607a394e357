package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// prometheus is the folder of Debian's prometheus and promtool, which `make test-clients`
// fetches.
var prometheus = os.Getenv("CAPSTAN_PROMETHEUS")

// TestPrometheus: a Prometheus scrapes the server, and the rules in testdata/prometheus
// have results.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	if prometheus == "" {
		t.Skip("make test-clients runs this")
	}
	server := serve(t, "")
	config := server.config(t)
	dir, rules := t.TempDir(), filepath.Join("testdata", "prometheus", "rules.yml")
	rules, _ = filepath.Abs(rules)
	if out, err := exec.Command(filepath.Join(prometheus, "promtool"), "check", "rules", rules).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, data := range map[string][]byte{"ca": config.CAData, "cert": config.CertData, "key": config.KeyData, "prometheus.yml": fmt.Appendf(nil, `
global: {scrape_interval: 300ms, scrape_timeout: 300ms, evaluation_interval: 500ms}
rule_files: [%s]
scrape_configs:
- {job_name: apiserver, scheme: https, tls_config: {ca_file: ca, cert_file: cert, key_file: key}, static_configs: [{targets: [%q]}]}
`, rules, config.Host[len("https://"):])} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address, output := runPrometheus(t, dir)
	admin := server.client(t)
	user := rest.CopyConfig(config)
	user.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:x", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	other, err := kubernetes.NewForConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	ctx, deadline := testContext(t), time.Now().Add(2*time.Minute)
	for missing := []string{"all"}; len(missing) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("no results: %v\n%s", missing, output.String())
		}
		_, _ = admin.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		_, _ = admin.CoreV1().Pods("default").Get(ctx, "none", metav1.GetOptions{})
		_, _ = admin.FlowcontrolV1beta1().FlowSchemas().List(ctx, metav1.ListOptions{})
		_, _ = other.Discovery().ServerGroups()
		missing = withoutResult(t, address)
	}
}

// runPrometheus starts Prometheus in the folder of its configuration, and returns its address.
func runPrometheus(t *testing.T, dir string) (string, *lockedBuffer) {
	t.Helper()
	address, output := freeAddress(t), &lockedBuffer{}
	run := exec.CommandContext(testContext(t), filepath.Join(prometheus, "prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.listen-address="+address)
	run.Dir, run.Stdout, run.Stderr = dir, output, output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	return address, output
}

// withoutResult lists the rules that have failed, or have no result.
func withoutResult(t *testing.T, address string) (names []string) {
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Type, Health, LastError string }
			}
		}
	}
	var result struct {
		Data struct{ Result []json.RawMessage }
	}
	get := func(path string, into any) error {
		resp, err := http.Get("http://" + address + path)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(into)
	}
	if err := get("/api/v1/rules", &rules); err != nil || len(rules.Data.Groups) == 0 {
		time.Sleep(100 * time.Millisecond) // it has not started yet
		return []string{fmt.Sprint("all: ", err)}
	}
	for _, g := range rules.Data.Groups {
		for _, r := range g.Rules {
			if r.Health == "err" {
				t.Fatalf("%s: %s", r.Name, r.LastError)
			}
			query := r.Name
			if r.Type == "alerting" {
				query = fmt.Sprintf("absent(ALERTS{alertname=%q})", r.Name)
			}
			if err := get("/api/v1/query?query="+url.QueryEscape(query), &result); err != nil || len(result.Data.Result) == 0 || r.Health != "ok" {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
