package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

const policyHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

// Mistakes in a policy are reported with their lines.
func TestPolicyMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	for text, want := range map[string]string{
		"":                          `:1: the file is empty`,
		"a: [":                      `:1: did not find expected node content`,
		"kind: Policy\nrules: []\n": `:1: kind "Policy" of "" is not what belongs here`,
		"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n": `:1: kind "Policy" of "audit.k8s.io/v1beta1" is not what belongs here`,
		policyHead:                                                                                            `:1: the policy has no rules`,
		policyHead + "rules:\n- users: [a]\n":                                                                 `:4: the level "" is none of None, Metadata, Request, RequestResponse`,
		policyHead + "rules:\n- level: metadata":                                                              `:4: the level "metadata" is none of None, Metadata`,
		policyHead + "rules:\n- level: None\n  verb: [get]\n":                                                 `:5: unknown field "verb"`,
		policyHead + "omitStage: [Panic]\n":                                                                   `:3: unknown field "omitStage"`,
		policyHead + "omitStages:\n- Panic\n- Begin\nrules: [{level: None}]\n":                                `:5: the stage "Begin" is none of RequestReceived`,
		policyHead + "rules:\n- level: None\n  users: a\n":                                                    ":5: cannot unmarshal !!str `a` into []string",
		policyHead + "rules:\n- level: None\n  resources:\n  - group: apps/v1\n":                              `:6: "apps/v1" is not the name of a group`,
		policyHead + "rules:\n- level: None\n  resources:\n  - resourceNames: [a]\n":                          `:6: resourceNames need at least one resource`,
		policyHead + "rules:\n- level: None\n  nonResourceURLs: [metrics]\n":                                  `:5: "metrics": a path begins with /`,
		policyHead + "rules:\n- level: None\n  nonResourceURLs: [\"/a*b\"]\n":                                 `:5: "/a*b": a path begins with /`,
		policyHead + "rules:\n- level: None\n- level: None\n  nonResourceURLs: [\"/a\"]\n  namespaces: [a]\n": `:6: a rule is about resources or about nonResourceURLs`,
		policyHead + "rules:\n- level: None\n- level: None\n  omitStages: [X]\n":                              `:6: the stage "X" is none of`,
		policyHead + "rules:\n- level: None\n  level: None\n":                                                 `:5: mapping key "level" already defined at line 4`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readPolicy(file); err == nil || !strings.HasPrefix(err.Error(), file+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := readPolicy(file + "x"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// The first rule that matches decides, by its users, groups, verbs, namespaces, resources
// or paths.
func TestPolicyRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	text := []byte(policyHead + `
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, users: [system], omitStages: [Panic], omitManagedFields: false}
- {level: Metadata, userGroups: [g1, g2], verbs: [get]}
- {level: Request, namespaces: [a, ""], resources: [{group: apps}]}
- {level: RequestResponse, resources: [{resources: [pods, "services/*", "*/scale"]}, {group: x.y, resources: ["*"], resourceNames: [n]}]}
- {level: Metadata, nonResourceURLs: ["/healthz", "/log*"]}
- {level: Request, namespaces: [all]}
`)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := readPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	user := &authn.User{Name: "u", Groups: []string{"g0", "g2"}}
	resource := func(group, plural, sub, namespace, name string) authz.Attributes {
		return authz.Attributes{ResourceRequest: true, Verb: "list", Group: group, Resource: plural, Subresource: sub, Namespace: namespace, Name: name}
	}
	for i, test := range []struct {
		a    authz.Attributes
		rule int // -1 for none
	}{
		{authz.Attributes{User: &authn.User{Name: "system"}}, 0},
		{authz.Attributes{User: user, Verb: "get", Path: "/"}, 1},
		{authz.Attributes{User: user, Verb: "put", Path: "/"}, -1},
		{resource("apps", "x", "", "a", ""), 2},
		{resource("apps", "x", "y", "", ""), 2},
		{resource("apps", "x", "", "b", ""), -1},
		{resource("", "pods", "", "b", ""), 3},
		{resource("", "pods", "log", "b", ""), -1},
		{resource("", "services", "", "b", ""), 3},
		{resource("", "services", "proxy", "b", ""), 3},
		{resource("", "x", "scale", "b", ""), 3},
		{resource("x.y", "x", "", "b", ""), -1},
		{resource("x.y", "x", "z", "b", "n"), 3},
		{authz.Attributes{Path: "/healthz"}, 4},
		{authz.Attributes{Path: "/healthz/a"}, -1},
		{authz.Attributes{Path: "/logs/a"}, 4},
		{resource("", "x", "", "all", ""), 5},
		{authz.Attributes{Path: "/x"}, -1},
	} {
		got := -1
		for k := range p.rules {
			if p.Rule(&test.a) == &p.rules[k] {
				got = k
			}
		}
		if got != test.rule {
			t.Errorf("%d: rule %d, want %d", i, got, test.rule)
		}
	}
	if r := p.rules[0]; !r.Omit.has(RequestReceived) || !r.Omit.has(Panic) || r.Omit.has(ResponseComplete) || r.OmitManagedFields || !p.rules[1].OmitManagedFields {
		t.Errorf("%+v", p.rules)
	}
}
