package authz

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/api"
)

func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		a                          Attributes
		reason                     string
		message, name, group, kind string
	}{
		{Attributes{User: bob, Verb: "get", Resource: "pods", Namespace: "default", Name: "x", ResourceRequest: true}, "",
			`pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default"`, "x", "", "pods"},
		{Attributes{User: bob, Verb: "list", Group: "apps", Resource: "deployments", ResourceRequest: true}, "",
			`deployments.apps is forbidden: User "bob" cannot list resource "deployments" in API group "apps" at the cluster scope`, "", "apps", "deployments"},
		{Attributes{User: bob, Verb: "patch", Resource: "nodes", Subresource: "status", Name: "n", ResourceRequest: true}, "not yours",
			`nodes "n" is forbidden: User "bob" cannot patch resource "nodes/status" in API group "" at the cluster scope: not yours`, "n", "", "nodes"},
		{Attributes{User: anon, Verb: "get", Path: "/x"}, "",
			`forbidden: User "system:anonymous" cannot get path "/x"`, "", "", ""},
		{Attributes{Verb: "get", Path: "/x"}, "", `forbidden: User "" cannot get path "/x"`, "", "", ""},
	} {
		want := &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden, HasDetails: true,
			Message: c.message, Name: c.name, Group: c.group, Kind: c.kind}
		if diff := cmp.Diff(want, Forbidden(&c.a, c.reason)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		path string
		want *Attributes // nil: not a resource
	}{
		{"/api/v1/pods", &Attributes{Version: "v1", Resource: "pods"}},
		{"/api/v1/nosuch/x", &Attributes{Version: "v1", Resource: "nosuch", Name: "x"}},
		{"/api/v1/namespaces", &Attributes{Version: "v1", Resource: "namespaces"}},
		{"/api/v1/namespaces/ns", &Attributes{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns"}},
		{"/api/v1/namespaces/ns/", &Attributes{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns"}},
		{"/api/v1/namespaces/ns/status", &Attributes{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Subresource: "status"}},
		{"/api/v1/namespaces/ns/finalize", &Attributes{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Subresource: "finalize"}},
		{"/api/v1/namespaces/ns/pods", &Attributes{Version: "v1", Resource: "pods", Namespace: "ns"}},
		{"/api/v1/namespaces/ns/pods/p/log", &Attributes{Version: "v1", Resource: "pods", Namespace: "ns", Name: "p", Subresource: "log"}},
		{"/apis/apps/v1/watch/namespaces/ns/deployments", &Attributes{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns"}},
		{"/apis/apps/v1/deployments", &Attributes{Group: "apps", Version: "v1", Resource: "deployments"}},
		{"/apis/apps/v1/namespaces/ns/deployments/d/scale", &Attributes{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Name: "d", Subresource: "scale"}},
		{"/api", nil}, {"/api/v1", nil}, {"/apis/apps", nil}, {"/apis/apps/v1", nil}, {"/apis/apps/v1/", nil},
		{"/", nil}, {"", nil}, {"/healthz", nil}, {"/apix/v1/pods", nil}, {"/api/v1//pods", nil},
	} {
		var got Attributes
		if !got.Describe(c.path) {
			if c.want != nil || got != (Attributes{}) {
				t.Errorf("%q: no resource, %+v", c.path, got)
			}
			continue
		}
		if c.want == nil {
			t.Errorf("%q: %+v", c.path, got)
			continue
		}
		c.want.ResourceRequest = true
		if diff := cmp.Diff(*c.want, got); diff != "" {
			t.Errorf("%q: %s", c.path, diff)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, s := range []string{"/api/v1/pods", "/apis/a/b/namespaces/c/d/e/f", "/api/v1/watch/x", "//", "/api//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		var a Attributes
		if a.Describe(path) && (a.Resource == "" || !a.ResourceRequest || a.Subresource != "" && a.Name == "") {
			t.Fatalf("%q: %+v", path, a)
		}
	})
}
