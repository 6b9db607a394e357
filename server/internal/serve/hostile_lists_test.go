package serve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestHostilePageTokens sends page tokens that the server did not make.
func TestHostilePageTokens(t *testing.T) {
	h, other := harness.Start(t, harness.EvaluatedOnce), harness.Start(t, harness.EvaluatedOnce)
	const secrets = "/api/v1/namespaces/default/secrets"
	for i := range 3 {
		for _, server := range []*harness.Server{h, other} {
			server.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("m%d", i), "{}")).Expect(t, 201, "")
			server.Post(secrets, fmt.Sprintf(`{"metadata":{"name":"s%d"}}`, i)).Expect(t, 201, "")
		}
	}
	tokenOf := func(h *harness.Server, path string) string {
		token, _ := h.Get(path+"?limit=1").Field(t, "metadata.continue").(string)
		if len(token) < 20 {
			t.Fatalf("no token of %s: %q", path, token)
		}
		return token
	}
	token := tokenOf(h, harness.ConfigMaps)
	tokens := map[string]string{
		"of another resource":  tokenOf(h, secrets),
		"of all namespaces":    tokenOf(h, "/api/v1/configmaps"),
		"of another server":    tokenOf(other, harness.ConfigMaps),
		"of version 1.25":      "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTAsInN0YXJ0IjoiL2V0Yy9zaGFkb3dcdTAwMDAifQ",
		"climbing out":         "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8uLi8ifQ",
		"twice":                token + token,
		"with padding":         token + "==",
		"cut":                  token[:len(token)/2],
		"not base64":           "%21%21%21",
		"NUL":                  "%00",
		"one letter":           "A",
		"letters after it":     token + "AAAA",
		"letters before it":    "AAAA" + token,
		"the MAC and no more":  token[:22],
		"other case":           strings.ToUpper(token),
		"line break inside it": token[:8] + "%0a" + token[8:],
	}
	for i := range token {
		letter := "A"
		if token[i] == 'A' {
			letter = "B"
		}
		tokens[fmt.Sprintf("letter %d changed", i)] = token[:i] + letter + token[i+1:]
	}
	var requests []harness.Hostile
	for name, token := range tokens {
		requests = append(requests, harness.Hostile{name, "GET", harness.ConfigMaps + "?limit=1&continue=" + token, "", "", 400})
	}
	for _, foreign := range []string{secrets, "/api/v1/configmaps", "/api/v1/namespaces/kube-system/configmaps"} {
		requests = append(requests, harness.Hostile{"in " + foreign, "GET", foreign + "?limit=1&continue=" + token, "", "", 400})
	}
	h.Refuse(t, requests)
	h.Get(harness.ConfigMaps+"?limit=1&continue="+token).Expect(t, 200, "")
}

// endless is a body of spaces that never ends.
type endless struct{}

// TestHostileLists: lists in which every element is wrong are refused in time that grows
// with their length and not with its square, and in an answer of modest size.
func TestHostileLists(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	const policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
	const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	var ports strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&ports, `{"name":"P%d","port":0},`, i)
	}
	h.Refuse(t, []harness.Hostile{
		{"containers", "POST", "/api/v1/namespaces/default/pods", "application/json", fill(`{"metadata":{"name":"x"},"spec":{"containers":[`, `{"name":"-","env":[{"name":"="}]},`, `{"name":"-"}]}}`), 413}, // with its defaults
		{"ports", "POST", "/api/v1/namespaces/default/services", "application/json", `{"metadata":{"name":"x"},"spec":{"ports":[` + strings.TrimSuffix(ports.String(), ",") + `]}}`, 422},
		{"rules", "POST", policies, "application/json", fill(`{"metadata":{"name":"x"},"spec":{"podSelector":{},"ingress":[`, `{"from":[{},{"ipBlock":{"cidr":"x"}}]},`, `{}]}}`), 422},
		{"endpoints", "POST", slices, "application/json", fill(`{"metadata":{"name":"x"},"addressType":"IPv4","endpoints":[`, `{"addresses":["x"]},`, `{}]}`), 422},
		{"finalizers", "POST", harness.ConfigMaps, "application/json", fill(`{"metadata":{"name":"x","finalizers":[`, `"x",`, `"x"]}}`), 422},
		{"owners", "POST", harness.ConfigMaps, "application/json", fill(`{"metadata":{"name":"x","ownerReferences":[`, `{"uid":"","name":"","apiVersion":"","kind":""},`, `{}]}}`), 422},
	})
}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
