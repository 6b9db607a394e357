package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// provoked are commands that are refused. Each prints a message of docs/reference/messages.md.
const provoked = `
kubectl get pods --as system:anonymous
kubectl --kubeconfig nobody --insecure-skip-tls-verify get pods
kubectl get pods --as anna
kubectl get nodes --as anna
kubectl get boats
kubectl get configmap nothing
kubectl create -n nowhere configmap a
kubectl create -f boat.json
kubectl get --raw /apis/nothing.example.com/v1/x
kubectl get pods --field-selector=spec.foo=1
kubectl create configmap a --from-literal=a=b
kubectl create configmap a --from-literal=a=b
kubectl replace -f old.json
kubectl apply --server-side -f other.json
kubectl create -f unknown.json
kubectl get --raw '/api/v1/pods?continue=abc'
kubectl create deployment Web_1 --image=x
kubectl delete ns kube-system
kubectl create ns q && kubectl create -n q quota one --hard=count/configmaps=1,cpu=1
kubectl create -n q configmap a; kubectl create -n q configmap b
kubectl run -n q p --image=x
kubectl create ns sec && kubectl label ns sec pod-security.kubernetes.io/enforce=restricted
kubectl run -n sec p --image=x
kubectl run p --image=x; kubectl exec p -- ls
kubectl create configmap big --from-file=big
kubectl --kubeconfig nobody get ns
`

// TestMessages provokes refusals, and looks for what people read in the tables of the page that has
// their remedies.
func TestMessages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "messages.md"))
	if err != nil {
		t.Fatal(err)
	}
	var known []*regexp.Regexp
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|.*\\|.*\\|$").FindAllStringSubmatch(string(text), -1) {
		for _, one := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(m[1], -1) {
			known = append(known, regexp.MustCompile("(?s)"+strings.ReplaceAll(regexp.QuoteMeta(one[1]), "…", ".*")))
		}
	}
	server := serve(t, "")
	r := newReader(t)
	for name, content := range map[string]string{
		"boat.json":    `{"apiVersion":"fleet.example.com/v1","kind":"Boat","metadata":{"name":"anna"}}`,
		"old.json":     `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","resourceVersion":"1"}}`,
		"other.json":   `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"a":"c"}}`,
		"unknown.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u"},"dat":{}}`,
		"big":          strings.Repeat("a", 4<<20),
		"nobody":       fmt.Sprintf(`{"kind":"Config","clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":"x"}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"current-context":"c"}`, server.url),
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.run(fmt.Sprintf("export KUBECONFIG=%q", server.kubeconfig))
	refused := 0
	for command := range strings.Lines(strings.TrimSpace(provoked)) {
		said := strings.ReplaceAll(r.run(strings.TrimSpace(command)), `\"`, `"`)
		if !regexp.MustCompile(`(?i)error|invalid|unable|forbidden|unauthorized`).MatchString(said) {
			continue // a step on the way to the next one
		}
		refused++
		found := false
		for _, k := range known {
			found = found || k.MatchString(said)
		}
		if !found {
			t.Errorf("$ %s%s\nis not in docs/reference/messages.md", command, said)
		}
	}
	if refused < 20 {
		t.Errorf("only %d commands were refused", refused)
	}
}
