package authorizers

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

// since is a release, 1.29 or later.
func since(release string) func(string) bool {
	return func(first string) bool { return first <= release }
}

// wrongFile has a mistake at each place that is checked.
const wrongFile = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: Bad_Name
  webhook:
    timeout: 40s
    authorizedTTL: -1s
    subjectAccessReviewVersion: v2
    matchConditionSubjectAccessReviewVersion: v2
    failurePolicy: Allow
    connectionInfo: {type: File, kubeConfigFile: /x}
    matchConditions:
    - expression: "request.user == 'a'"
    - expression: "request.user == 'a'"
    - expression: "request.usr == 'a'"
    - expression: "request.user"
    - expression: " "
- {type: RBAC, name: rbac}
- {type: RBAC, name: rbac2}
- {type: Nope, name: x}
- {type: Node, name: rbac, webhook: {timeout: 1s}}
- {name: yy}
- {type: Webhook, name: w2, webhook: {connectionInfo: {type: KubeConfigFile, kubeConfigFile: rel}}}
- type: Webhook
  name: w3
  webhook: {timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /nope}, matchConditions: [{expression: "true"}]}
- {type: Webhook, name: w4}
`

// wrongTexts are the words of kube-apiserver 1.36 about it.
const wrongTexts = `[authorizers[0].name: Invalid value: "Bad_Name": authorizer name is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), ` +
	`authorizers[0].timeout: Invalid value: "40s": must be > 0s and <= 30s, authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s, ` +
	`authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1", ` +
	`authorizers[0].matchConditionSubjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", ` +
	`authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny", ` +
	`authorizers[0].connectionInfo.type: Unsupported value: {"Type":"File","KubeConfigFile":"/x"}: supported values: "InClusterConfig", "KubeConfigFile", ` +
	`authorizers[0].matchConditions[1].expression: Duplicate value: "request.user == 'a'", ` +
	`authorizers[0].matchConditions[2].expression: Invalid value: "request.usr == 'a'": compilation failed: ERROR: <input>:1:8: undefined field 'usr'
 | request.usr == 'a'
 | .......^, authorizers[0].matchConditions[3].expression: Invalid value: "request.user": must evaluate to bool but got string, ` +
	`authorizers[0].matchConditions[4].expression: Required value, authorizers[2].type: Duplicate value: "RBAC", ` +
	`authorizers[3].type: Unsupported value: "Nope": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook", ` +
	`authorizers[4].name: Duplicate value: "rbac", authorizers[4].webhook: Invalid value: "non-null": may only be specified when type=Webhook, ` +
	`authorizers[5].type: Required value, authorizers[6].timeout: Required value, authorizers[6].subjectAccessReviewVersion: Required value, ` +
	`authorizers[6].failurePolicy: Required value, authorizers[6].connectionInfo.kubeConfigFile: Invalid value: "rel": must be an absolute path, ` +
	`authorizers[7].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified, ` +
	`authorizers[7].connectionInfo.kubeConfigFile: Invalid value: "/nope": error loading file: stat /nope: no such file or directory, ` +
	`authorizers[8].webhook: Required value: required when type=Webhook]`

func TestMistakesAreThoseOfKubeAPIServer(t *testing.T) {
	_, err := Open(Config{Path: "/etc/authz.yaml", Since: since("1.36"), Selectors: true}, []byte(wrongFile))
	if err == nil {
		t.Fatal("accepted")
	}
	if diff := cmp.Diff("/etc/authz.yaml: "+wrongTexts, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// hookFile is a client configuration in a file.
func hookFile(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "hook.kubeconfig")
	text := `{"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1/"}}],"contexts":[{"name":"x","context":{"cluster":"c"}}],"current-context":"x"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func fileOf(version, authorizers string) []byte {
	return []byte("apiVersion: apiserver.config.k8s.io/" + version + "\nkind: AuthorizationConfiguration\nauthorizers: [" + authorizers + "]\n")
}

func hookOf(name, file, more string) string {
	return "{type: Webhook, name: " + name + ", webhook: {timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: " + file + "}" + more + "}}"
}

// Files are read as releases read them; a mistake names the file.
func TestFilesOfReleases(t *testing.T) {
	file := hookFile(t)
	for name, c := range map[string]struct {
		release string
		text    []byte
		want    string // "" for no mistake
	}{
		"alpha":              {"1.29", fileOf("v1alpha1", "{type: RBAC, name: rbac}"), ""},
		"beta too early":     {"1.29", fileOf("v1beta1", "{type: RBAC, name: rbac}"), "is not what belongs here"},
		"beta":               {"1.30", fileOf("v1beta1", hookOf("h", file, "")), ""},
		"stable too early":   {"1.31", fileOf("v1", "{type: RBAC, name: rbac}"), "is not what belongs here"},
		"stable":             {"1.32", fileOf("v1", "{type: RBAC, name: rbac},"+hookOf("h", file, "")), ""},
		"no authorizers":     {"1.36", fileOf("v1", ""), "authorizers: Required value: at least one authorization mode must be defined"},
		"another name":       {"1.36", fileOf("v1", "{type: RBAC, name: foo}"), "expected name rbac for authorizer RBAC instead of foo"},
		"unknown":            {"1.36", []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizer: []\n"), `:3: unknown field "authorizer"`},
		"another kind":       {"1.36", []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"), "is not what belongs here"},
		"empty":              {"1.36", nil, "the file is empty"},
		"no duration":        {"1.36", fileOf("v1", "{type: Webhook, name: h, webhook: {timeout: 5}}"), "a duration is a text with a unit"},
		"odd duration":       {"1.36", fileOf("v1", "{type: Webhook, name: h, webhook: {timeout: soon}}"), `:3: time: invalid duration "soon"`},
		"cache flags early":  {"1.33", fileOf("v1", hookOf("h", file, ", cacheAuthorizedRequests: false")), `unknown field "cacheAuthorizedRequests"`},
		"cache flags":        {"1.34", fileOf("v1", hookOf("h", file, ", cacheAuthorizedRequests: false, cacheUnauthorizedRequests: true")), ""},
		"in a cluster":       {"1.36", fileOf("v1", strings.ReplaceAll(hookOf("h", file, ""), "KubeConfigFile", "InClusterConfig")), "connectionInfo.type"},
		"a folder":           {"1.36", fileOf("v1", hookOf("h", filepath.Dir(file), "")), "must be a regular file"},
		"two of a name":      {"1.36", fileOf("v1", hookOf("h", file, "")+","+hookOf("h", file, "")), `authorizers[1].name: Duplicate value: "h"`},
		"not a kubeconfig":   {"1.36", fileOf("v1", hookOf("h", os.Args[0], "")), "authorizer h: " + os.Args[0]},
		"many conditions":    {"1.36", fileOf("v1", hookOf("h", file, ", matchConditionSubjectAccessReviewVersion: v1, matchConditions: ["+strings.Repeat("{expression: 'true'},", 65)+"]")), "authorizers[0].matchConditions: Too many: 65: must have at most 64 items"},
		"selectors too soon": {"1.30", fileOf("v1beta1", hookOf("h", file, `, matchConditionSubjectAccessReviewVersion: v1, matchConditions: [{expression: "has(request.resourceAttributes.fieldSelector)"}]`)), "undefined field 'fieldSelector'"},
	} {
		of := func(string) (authz.Authorizer, error) { return authz.AlwaysDeny(), nil }
		chain, err := Open(Config{Path: "/etc/authz.yaml", Since: since(c.release), Selectors: c.release >= "1.32", Of: of, Clock: time.Now}, c.text)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "/etc/authz.yaml:")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if chain != nil {
			chain.Close()
		}
	}
}

// A reload puts a text to use that has no mistake, and the types of the start.
func TestReload(t *testing.T) {
	var made []string
	of := func(typ string) (authz.Authorizer, error) {
		made = append(made, typ)
		return authz.AlwaysDeny(), nil
	}
	chain, err := Open(Config{Path: "/f", Since: since("1.36"), Of: of, Clock: time.Now}, fileOf("v1", "{type: RBAC, name: rbac}"))
	if err != nil {
		t.Fatal(err)
	}
	may := func() bool {
		decision, _, err := chain.Authorize(t.Context(), &authz.Attributes{User: &authn.User{Name: "eve"}})
		return decision == authz.Allow && err == nil
	}
	for _, c := range []struct {
		authorizers, want string
		may               bool
	}{
		{"{type: RBAC, name: rbac}, {type: AlwaysAllow, name: alwaysallow}", "", true},
		{"{type: RBAC, name: rbac}, {type: Node, name: node}", "authorizer type Node is not allowed if it was not enabled at initial server startup", true},
		{"{type: AlwaysDeny, name: alwaysdeny}", "missing required types: [RBAC]", true},
		{"{type: RBAC}", "name: Required value", true},
		{"{type: RBAC, name: rbac}", "", false},
	} {
		err := chain.Reload(fileOf("v1", c.authorizers))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.authorizers, err, c.want)
		}
		if may() != c.may {
			t.Errorf("%s: allowed %t", c.authorizers, may())
		}
	}
	if !slices.Equal(made, []string{"RBAC"}) {
		t.Errorf("made %v", made)
	}
	if _, err := Open(Config{Path: "/f", Since: since("1.36"), Of: func(string) (authz.Authorizer, error) { return nil, errors.New("no policies") }},
		fileOf("v1", "{type: ABAC, name: abac}")); err == nil || err.Error() != "no policies" {
		t.Error(err)
	}
}

// Conditions choose requests; one without a value counts if none is false.
func TestConditions(t *testing.T) {
	compile, err := newCompiler(true)
	if err != nil {
		t.Fatal(err)
	}
	list := &authz.Attributes{User: &authn.User{Name: "eve", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v"}}}, ResourceRequest: true,
		Verb: "list", Version: "v1", Resource: "pods", Namespace: "shop", Fields: []authz.Requirement{{Key: "spec.nodeName", Operator: "In", Values: []string{"n"}}}}
	path := &authz.Attributes{User: &authn.User{Name: "eve"}, Verb: "get", Path: "/healthz"}
	for text, c := range map[string]struct {
		of   *authz.Attributes
		want string
	}{
		`request.user == 'eve' && request.uid == '7' && 'b' in request.groups && request.extra['k'] == ['v']`:                                          {list, "true"},
		`has(request.resourceAttributes) && request.resourceAttributes.namespace == 'shop' && request.resourceAttributes.name == ''`:                   {list, "true"},
		`request.resourceAttributes.fieldSelector.requirements.exists(r, r.key == 'spec.nodeName' && r.operator == 'In' && r.values.all(v, v == 'n'))`: {list, "true"},
		`has(request.resourceAttributes.labelSelector)`:       {list, "false"},
		`has(request.nonResourceAttributes)`:                  {list, "false"},
		`request.nonResourceAttributes.path == '/healthz'`:    {path, "true"},
		`request.groups == [] && request.extra == {}`:         {path, "true"},
		`request.resourceAttributes.verb == 'list'`:           {path, "cel evaluation error: expression 'request.resourceAttributes.verb == 'list'' resulted in error: no such key: resourceAttributes"},
		`request.user.matches('(a+)+$') || request.uid == ''`: {path, "true"},
		`[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0))))))`: {path, "cost limit exceeded"},
	} {
		compiled, wrong := compile.all(nil, []condition{{text}})
		if len(wrong) > 0 {
			t.Errorf("%s: %v", text, wrong)
			continue
		}
		matches, err := compiled.match(t.Context(), c.of)
		got := map[bool]string{true: "true", false: "false"}[matches]
		if err != nil {
			got = err.Error()
		}
		if got != c.want && !(err != nil && strings.HasSuffix(got, c.want)) {
			t.Errorf("%s: %s, want %s", text, got, c.want)
		}
	}
	several, _ := compile.all(nil, []condition{{"request.extra['x'] == []"}, {"request.user == 'adam'"}})
	if matches, err := several.match(t.Context(), path); matches || err != nil {
		t.Errorf("one is false: %t, %v", matches, err)
	}
	both, _ := compile.all(nil, []condition{{"request.extra['x'] == []"}, {"request.extra['y'] == []"}})
	if matches, err := both.match(t.Context(), path); matches || err == nil || !strings.HasPrefix(err.Error(), "[cel evaluation error") {
		t.Errorf("two without a value: %t, %v", matches, err)
	}
}

// FuzzFile: no text breaks the reader.
func FuzzFile(f *testing.F) {
	f.Add([]byte(wrongFile))
	f.Add(fileOf("v1", "{type: RBAC, name: rbac}"))
	f.Add([]byte("authorizers: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4<<10 {
			return
		}
		if chain, err := Open(Config{Path: "/f", Since: since("1.36"), Of: func(string) (authz.Authorizer, error) { return authz.AlwaysDeny(), nil }, Clock: time.Now}, text); err == nil {
			chain.Close()
		}
	})
}
