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
