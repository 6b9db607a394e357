package objects_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// verbRequests are the requests of the verbs in discovery: a method, and whether the path
// is that of an object, with the end of the path.
var verbRequests = map[string]struct {
	method string
	one    bool
	query  string
}{
	"get": {"GET", true, ""}, "list": {"GET", false, ""}, "watch": {"GET", false, "?watch=1&timeoutSeconds=1"}, "create": {"POST", false, ""},
	"update": {"PUT", true, ""}, "patch": {"PATCH", true, ""}, "delete": {"DELETE", true, ""}, "deletecollection": {"DELETE", false, ""},
}

// TestRefusals: without rights every request that discovery offers is refused, and the
// refusal does not depend on the existence of the object.
func TestRefusals(t *testing.T) {
	h := harness.Start(t, withEverything)
	makeAll(h, true)
	h.Define(`{"type":"object"}`, `,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}`)
	h.Create(harness.ShopWidgets, harness.Widget("w", ""))
	asked, present, seen := 0, 0, map[string]bool{}
	for _, group := range groupVersions(h, t) {
		var found struct {
			Resources []struct {
				Name       string
				Namespaced bool
				Verbs      []string
			}
		}
		got := h.Get(group)
		if got.Code == 503 {
			continue // of the example of an API service
		}
		if err := json.Unmarshal(got.Body, &found); err != nil {
			t.Fatal(err)
		}
		for _, r := range found.Resources {
			base, sub, _ := strings.Cut(r.Name, "/")
			namespace, name := firstOf(h, t, group+"/"+base)
			if name != absent {
				present++
			}
			at := group
			if r.Namespaced {
				at += "/namespaces/" + namespace
			}
			for _, verb := range r.Verbs {
				seen[verb+" "+r.Name] = true
				v, known := verbRequests[verb]
				if !known {
					t.Errorf("%s of %s: the verb is unknown", verb, r.Name)
				}
				for _, credentials := range []string{"", "Bearer bob-token"} {
					if strings.HasPrefix(base, "selfsubject") && credentials != "" {
						continue // for all users that are known
					}
					answer := func(name string) string {
						path := at + "/" + base
						if v.one || sub != "" {
							path += "/" + name
						}
						if sub != "" {
							path += "/" + sub
						}
						asked++
						got := h.Send(v.method, path+v.query, "", nil, "Authorization", credentials)
						if got.Code != 401 && got.Code != 403 {
							t.Errorf("%q: %s %s: %d %s", credentials, v.method, path, got.Code, got.Body)
						}
						return string(got.Body)
					}
					if there, missing := answer(name), answer("capstan-missing"); there != strings.ReplaceAll(missing, "capstan-missing", name) {
						t.Errorf("%q: %s of %s tells whether it exists:\n%s\n%s", credentials, verb, r.Name, there, missing)
					}
				}
			}
		}
	}
	for _, verb := range []string{"get pods/log", "create pods/exec", "get pods/exec", "create pods/eviction", "create pods/binding", "create serviceaccounts/token", "delete nodes/proxy", "get services/proxy",
		"patch namespaces/status", "update namespaces/finalize", "update certificatesigningrequests/approval", "update deployments/scale", "deletecollection secrets", "watch leases",
		"create subjectaccessreviews", "create localsubjectaccessreviews", "create tokenreviews", "create selfsubjectreviews", "create selfsubjectrulesreviews",
		"deletecollection widgets", "watch widgets", "patch widgets/status", "update widgets/scale", "update customresourcedefinitions/status",
		"create validatingadmissionpolicies", "update validatingadmissionpolicies/status", "delete validatingadmissionpolicybindings", "create mutatingadmissionpolicies", "patch mutatingadmissionpolicybindings"} {
		if !seen[verb] {
			t.Errorf("%s was not tried", verb)
		}
	}
	if asked < 2000 || present < 90 {
		t.Errorf("only %d requests were made, about %d resources with objects", asked, present)
	}
}

// absent is the name of an object where there is none.
const absent = "capstan-absent"

// groupVersions are the paths of all group versions in discovery.
func groupVersions(h *harness.Server, t *testing.T) []string {
	paths := []string{"/api/v1"}
	var groups struct {
		Groups []struct {
			Versions []struct{ GroupVersion string }
		}
	}
	if err := json.Unmarshal(h.Get("/apis").Body, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	return slices.Compact(paths)
}

// firstOf returns the names of an object at a path, those of a missing one if there are
// none.
func firstOf(h *harness.Server, t *testing.T, path string) (namespace, name string) {
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	got := h.Get(path + "?limit=1")
	if err := json.Unmarshal(got.Body, &list); err != nil {
		t.Fatal(err)
	}
	if got.Code != 200 || len(list.Items) == 0 {
		return "default", absent
	}
	return list.Items[0].Metadata.Namespace, list.Items[0].Metadata.Name
}
