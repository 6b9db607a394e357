package serve_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// laterFunctions are conditions by the first release whose new expressions may use their functions.
var laterFunctions = []struct{ since, text string }{
	{"1.25", "[1, 2].isSorted() && 'aB'.lowerAscii() == 'ab'"},
	{"1.29", "quantity('1Gi').isInteger()"},
	{"1.29", "optional.of(1).hasValue()"},
	{"1.29", "1 < 1.5"},
	{"1.30", "sets.contains([1], [1])"},
	{"1.31", "isIP('1.2.3.4') && isCIDR('10.0.0.0/8')"},
	{"1.32", "format.named('uuid').hasValue()"},
	{"1.33", "['a'].all(i, v, i == 0 && v == 'a')"},
	{"1.34", "isSemver('1.2.3')"},
	{"1.35", "[3, 1].sort() == [1, 3]"},
}

// TestReleaseExpressions: new expressions of definitions, policies, webhooks and selectors of devices know the functions of the
// release before; the usual release has all.
func TestReleaseExpressions(t *testing.T) {
	const webhook = `{"metadata":{"name":"w"},"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://h"},"sideEffects":"None","admissionReviewVersions":["v1"],"matchConditions":[{"name":"c","expression":%q}]}]}`
	const definition = `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-validations":[{"rule":%q}]}}}]}}`
	for _, release := range []string{"1.25", "1.28", "1.29", "1.30", "1.31", "1.33", "1.36"} {
		h := harness.Start(t, emulating(release))
		paths := map[string]string{harness.DefinitionsPath: definition}
		if release > "1.26" {
			paths["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"] = webhook
		}
		if release > "1.29" {
			paths["/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"] =
				`{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"operations":["*"]}]},"validations":[{"expression":%q}]}}`
		}
		if release > "1.33" {
			paths["/apis/resource.k8s.io/v1/deviceclasses"] = `{"metadata":{"name":"c"},"spec":{"selectors":[{"cel":{"expression":%q}}]}}`
		}
		for path, body := range paths {
			for _, f := range laterFunctions {
				got := h.Post(path+"?dryRun=All", fmt.Sprintf(body, f.text))
				if known := release == "1.25" || release >= f.since; (got.Code == http.StatusCreated) != known || !known && got.Code != http.StatusUnprocessableEntity {
					t.Errorf("%s: %s: %s: %d %s", release, path, f.text, got.Code, got.Body)
				}
			}
		}
	}
}

// TestReleaseChanges: new policies that change objects may make objects and patches in a release too.
func TestReleaseChanges(t *testing.T) {
	h := harness.Start(t, emulating("1.36"))
	for change, expression := range map[string]string{
		"applyConfiguration": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
		"jsonPatch":          "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'c'}]",
	} {
		h.Create("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies?dryRun=All", fmt.Sprintf(`{"metadata":{"name":"p"},"spec":{"reinvocationPolicy":"Never",`+
			`"matchConstraints":{"resourceRules":[{"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"operations":["*"]}]},"mutations":[{"patchType":%q,%q:{"expression":%q}}]}}`,
			map[string]string{"applyConfiguration": "ApplyConfiguration", "jsonPatch": "JSONPatch"}[change], change, expression))
	}
}

// TestReleaseKeptExpressions: an expression that is stored keeps functions which a new one may not use, and is evaluated.
func TestReleaseKeptExpressions(t *testing.T) {
	const path, rule = harness.DefinitionsPath + "/widgets.shop.example.com", `{"type":"object","properties":{"ip":{"type":"string"}},"x-kubernetes-validations":[{"rule":"!has(self.ip) || isIP(self.ip)"%s}]}`
	dir := t.TempDir()
	in := func(release string, do func(t *testing.T, h *harness.Server)) {
		t.Run(release, func(t *testing.T) {
			do(t, harness.Start(t, func(c *server.Config) {
				emulating(release)(c)
				c.InMemory, c.DataDir = false, dir
			}))
		})
	}
	in("1.31", func(_ *testing.T, h *harness.Server) { h.Define(fmt.Sprintf(rule, ""), "") })
	in("1.29", func(t *testing.T, h *harness.Server) {
		h.Post(harness.ShopWidgets, harness.Widget("w", `,"ip":"x"`)).Expect(t, http.StatusUnprocessableEntity, "Invalid")
		h.Create(harness.ShopWidgets, harness.Widget("w", `,"ip":"1.2.3.4"`))
		of := func(schema string) []byte {
			return []byte(`[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":` + schema + `}]`)
		}
		h.Send(http.MethodPatch, path, harness.JSONPatchMedia, of(fmt.Sprintf(rule, `,"message":"other"`))).Expect(t, http.StatusOK, "")
		got := h.Send(http.MethodPatch, path, harness.JSONPatchMedia, of(strings.Replace(fmt.Sprintf(rule, ""), "isIP(", "isCIDR(", 1)))
		if got.Expect(t, http.StatusUnprocessableEntity, "Invalid"); !strings.Contains(string(got.Body), "undeclared reference to 'isCIDR'") {
			t.Errorf("%s", got.Body)
		}
	})
}
