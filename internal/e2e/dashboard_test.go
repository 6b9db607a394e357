package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

var packaging = filepath.Join("..", "..", "packaging")

// TestDashboard: every query of the dashboard and of the rules has data, of a server with a store and of one on etcd
// that are in use and have trouble with webhooks, extensions and the audit log.
func TestDashboard(t *testing.T) {
	if prometheus == "" {
		t.Skip("make test-clients runs this")
	}
	rules, _ := filepath.Abs(filepath.Join(packaging, "prometheus", "rules.yaml"))
	promtool(t, "check", "rules", rules)
	promtool(t, "test", "rules", filepath.Join(filepath.Dir(rules), "rules_test.yaml"))
	onEtcd := startOnEtcd(t, 1).all[0]
	onEtcd.awaitReady(t)
	alone := serve(t, "", "--audit-log-path", "/dev/full")

	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 300ms, scrape_timeout: 300ms, evaluation_interval: 500ms}\nrule_files: [%q]\nscrape_configs:\n", rules)
	for name, one := range map[string]*instance{"alone": alone, "etcd": onEtcd} {
		c := one.config(t)
		for file, data := range map[string][]byte{"ca": c.CAData, "cert": c.CertData, "key": c.KeyData} {
			if err := os.WriteFile(filepath.Join(dir, name+"."+file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		config += fmt.Sprintf("- {job_name: %[1]s, scheme: https, tls_config: {ca_file: %[1]s.ca, cert_file: %[1]s.cert, key_file: %[1]s.key}, "+
			"static_configs: [{targets: [%[2]q], labels: {job: capstan}}]}\n", name, c.Host[len("https://"):])
	}
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	queries := append(dashboardQueries(t), ruleQueries(t, rules)...)
	if len(queries) < 60 {
		t.Fatalf("only %d queries were found", len(queries))
	}
	address, output := runPrometheus(t, dir)
	trouble(t, alone)
	for deadline := time.Now().Add(2 * time.Minute); ; {
		load(t, alone)
		load(t, onEtcd)
		missing := withoutData(t, address, queries)
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no data for\n%s\n%s", strings.Join(missing, "\n"), output.String())
		}
	}
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(filepath.Join(prometheus, "promtool"), args...).CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", args, err, out)
	}
}

// trouble makes a webhook that answers, one that fails and is passed over, an extension without a server, and a watch.
func trouble(t *testing.T, i *instance) {
	t.Helper()
	ctx, admin := testContext(t), i.client(t)
	hooks := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failing" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		var review struct{ Request struct{ UID string } }
		_ = json.NewDecoder(r.Body).Decode(&review)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
	}))
	t.Cleanup(hooks.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hooks.Certificate().Raw})
	made := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
	for _, name := range []string{"answering", "failing"} {
		made.Webhooks = append(made.Webhooks, admissionv1.ValidatingWebhook{
			Name: name + ".example.com", FailurePolicy: ptr.To(admissionv1.Ignore), SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To(hooks.URL + "/" + name), CABundle: authority},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		})
	}
	if _, err := admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const extension = `{"metadata":{"name":"v1.none.example.com"},"spec":{"group":"none.example.com","version":"v1","groupPriorityMinimum":100,"versionPriority":1,
		"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"none"}}}`
	if err := admin.RESTClient().Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").SetHeader("Content-Type", "application/json").Body([]byte(extension)).Do(ctx).Error(); err != nil {
		t.Fatal(err)
	}
	watch, err := admin.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	go func() {
		for range watch.ResultChan() {
			continue
		}
	}()
}

// load sends requests of each kind.
func load(t *testing.T, i *instance) {
	t.Helper()
	ctx, admin := testContext(t), i.client(t)
	user := i.config(t)
	user.Impersonate = rest.ImpersonationConfig{UserName: "anna", Groups: []string{"system:authenticated"}}
	other, err := kubernetes.NewForConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Discovery().ServerGroups(); err != nil { // fairness bounds other users than administrators
		t.Fatal(err)
	}
	for range 10 {
		if err := writeAndRead(ctx, admin); err != nil {
			t.Fatal(err)
		}
	}
}

func writeAndRead(ctx context.Context, admin *kubernetes.Clientset) error {
	made, err := admin.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "a"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := admin.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	if _, err := admin.FlowcontrolV1beta1().FlowSchemas().List(ctx, metav1.ListOptions{}); err != nil {
		return err
	}
	_, _ = admin.CoreV1().Pods("default").Get(ctx, "none", metav1.GetOptions{})
	return admin.CoreV1().ConfigMaps("default").Delete(ctx, made.Name, metav1.DeleteOptions{})
}

// labelValues is the query of a variable: a metric whose values of a label are offered.
var labelValues = regexp.MustCompile(`^label_values\((.*), \w+\)$`)

// dashboardQueries are the queries of all panels, for all servers, and the metrics of the variables.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct {
				Type, Name string
				Query      any // an object, for Prometheus
			}
		}
	}
	readYAML(t, filepath.Join(packaging, "grafana", "capstan.json"), &dashboard)
	for _, variable := range dashboard.Templating.List {
		if variable.Type != "query" {
			continue
		}
		asked, _ := variable.Query.(map[string]any)
		text, _ := asked["query"].(string)
		metric := labelValues.FindStringSubmatch(text)
		if metric == nil {
			t.Fatalf("the variable %s has the query %v; write label_values(METRIC, LABEL)", variable.Name, variable.Query)
		}
		queries = append(queries, metric[1])
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("a panel of the type %s has no query", p.Type)
		}
		for _, target := range p.Targets {
			queries = append(queries, strings.ReplaceAll(target.Expr, "$instance", ".*"))
		}
	}
	return queries
}

// comparison is the outermost comparison of an alert. What it compares must have data, even while all is well.
var comparison = regexp.MustCompile(`^(.*) (?:==|>|<) (.*)$`)

// ruleQueries are the names of the recording rules, and both sides of the alerts' comparisons.
func ruleQueries(t *testing.T, file string) (queries []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	readYAML(t, file, &rules)
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Record != "" {
				queries = append(queries, r.Record)
				continue
			}
			sides := comparison.FindStringSubmatch(r.Expr)
			if sides == nil {
				t.Fatalf("%s compares nothing: %s", r.Alert, r.Expr)
			}
			queries = append(queries, sides[1], sides[2])
		}
	}
	return queries
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// withoutData lists the queries without a result. A wrong query fails the test.
func withoutData(t *testing.T, address string, queries []string) (missing []string) {
	t.Helper()
	for _, query := range queries {
		resp, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
		if err != nil {
			return []string{err.Error()} // it has not started yet
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var answer struct {
			Error string
			Data  struct{ Result []json.RawMessage }
		}
		if err == nil && resp.StatusCode == http.StatusBadRequest {
			t.Fatalf("%s: %s", query, text)
		}
		if err != nil || json.Unmarshal(text, &answer) != nil || len(answer.Data.Result) == 0 {
			missing = append(missing, query)
		}
	}
	return missing
}
