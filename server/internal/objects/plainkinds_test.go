package objects_test

import (
	"cmp"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// namesakes are group versions of other groups, with resources that have the names and
// the types of built-in ones, but declare nothing of their life cycle.
func namesakes(groups []*api.GroupVersion) (all []*api.GroupVersion) {
	for _, gv := range groups {
		if gv.Version != "v1" {
			continue
		}
		group := strings.TrimSuffix(cmp.Or(gv.Group, "core"), ".k8s.io") + ".example.com"
		other := &api.GroupVersion{Group: group, Version: gv.Version, GroupPriority: 1, VersionPriority: 1, Preferred: true, Table: gv.Table, Defaults: gv.Defaults}
		for _, row := range gv.Resources {
			if row.Stored && row.Conversion == nil {
				other.Resources = append(other.Resources, api.Resource{GV: other, Plural: row.Plural, Kind: row.Kind, ListKind: row.ListKind, Type: row.Type,
					Namespaced: row.Namespaced, Stored: true, Verbs: row.Verbs, StorageVersion: gv.Version, Form: row.Form, Checking: api.Checking{NameFormat: row.NameFormat}})
			}
		}
		for i := range other.Resources {
			res := &other.Resources[i]
			res.Subresources = []api.Subresource{{Name: "log", Endpoint: api.EndpointStatus, Verbs: api.VerbGet, Group: other.Group, Version: other.Version, Kind: res.Kind, Table: other.Table, Type: res.Type}}
		}
		all = append(all, other)
	}
	return all
}

// A resource with the name of a built-in one has none of its behaviour: its document
// would have to declare it.
func TestNamesakesOfBuiltInKinds(t *testing.T) {
	rows := map[string]*api.Resource{}
	h := harness.Start(t, func(c *server.Config) {
		serve(c, func(d *documents) {
			more := namesakes(d.groups)
			for _, gv := range more {
				for i := range gv.Resources {
					rows[gv.Resources[i].Plural] = &gv.Resources[i]
				}
			}
			d.groups = append(d.groups, more...)
		})
	})
	const request = `"spec":{"signerName":"a.b/c","request":"eA==","usages":["any"],"username":"eve"}`
	const containers = `"containers":[{"name":"c","image":"i"}]`
	const pod = `"spec":{` + containers + `,"nodeName":"n"}`
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + containers + `}}`
	for _, c := range []struct {
		plural, sent, query string
		lacks               string // of the new object
		wait                string // the remaining object after a delete; "" for none
	}{
		{"deployments", `"spec":{` + template + `}`, "", "", ""},
		{"replicationcontrollers", `"spec":{` + strings.Replace(template, `{"matchLabels":{"a":"b"}}`, `{"a":"b"}`, 1) + `}`, "", "", ""},
		{"jobs", `"spec":{` + strings.Replace(template, containers, containers+`,"restartPolicy":"Never"`, 1) + `}`, "", "", ""},
		{"pods", pod, "", `"tolerations"`, ""},
		{"pods", pod, "?gracePeriodSeconds=9", `"priority"`, ""},
		{"namespaces", `"spec":{}`, "", "", ""},
		{"namespaces", `"spec":{"finalizers":["a/b"]}`, "", "", `"deletionGracePeriodSeconds":0`},
		{"customresourcedefinitions", `"spec":{"group":"a.b"}`, "", "", ""},
		{"events", `"involvedObject":{},"reason":"r"`, "?propagationPolicy=Foreground", "", `"finalizers":["foregroundDeletion"]`},
		{"certificatesigningrequests", request, "", `"username":"admin"`, ""},
		{"leases", `"spec":{"holderIdentity":"a"}`, "", "", ""},
		{"services", `"spec":{"type":"ClusterIP"}`, "", `"clusterIP"`, ""},
		{"nodes", `"spec":{"podCIDR":"10.0.0.0/24"}`, "", `"taints"`, ""},
		{"persistentvolumeclaims", `"spec":{"resources":{}}`, "", "pvc-protection", ""},
	} {
		res := rows[c.plural]
		ask := func(token, method, name, sub, query, body string) *httptest.ResponseRecorder {
			path := res.GV.Prefix()
			if res.Namespaced {
				path += "/namespaces/default"
			}
			path += "/" + c.plural
			for _, step := range []string{name, sub} {
				if step != "" {
					path += "/" + step
				}
			}
			r := httptest.NewRequest(method, path+query, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			return h.Running.Ask(r)
		}
		check := func(what string, w *httptest.ResponseRecorder, code int, holds, lacks string) {
			t.Helper()
			if text := w.Body.String(); w.Code != code || !strings.Contains(text, holds) || lacks != "" && strings.Contains(text, lacks) {
				t.Errorf("%s %s: %d %s\nwant %d, with %q, without %q", what, c.plural+c.query, w.Code, text, code, holds, lacks)
			}
		}
		where := "at the cluster scope"
		if res.Namespaced {
			where = "in the namespace"
		}
		check("forbid", ask("bob-token", "GET", "default", "", "", ""), 403, where, "")
		body := `{"metadata":{"name":"default"},` + c.sent + "}"
		check("create", ask(harness.AdminToken, "POST", "", "", "", body), 201, "", c.lacks)
		check("replace", ask(harness.AdminToken, "PUT", "default", "", "", strings.Replace(body, `"},`, `","labels":{"a":"b"}},`, 1)), 200, `"a":"b"`, "")
		if c.plural != "namespaces" { // there a third step is a resource in the namespace
			check("subresource", ask(harness.AdminToken, "GET", "default", "log", "", ""), 200, `"kind":"`+res.Kind+`"`, "")
		}
		check("precondition", ask(harness.AdminToken, "DELETE", "default", "", "", `{"preconditions":{"uid":"u"}}`), 409, "cannot be fulfilled on "+res.Kind+".", "")
		deleted := ask(harness.AdminToken, "DELETE", "default", "", c.query, "")
		if warning := deleted.Header().Get("Warning"); warning != "" {
			t.Errorf("the delete of %s warns: %s", c.plural, warning)
		}
		if c.wait == "" {
			check("delete", deleted, 200, `"status":"Success"`, "")
			check("after the delete", ask(harness.AdminToken, "GET", "default", "", "", ""), 404, "not found", "")
			continue
		}
		check("delete", deleted, 200, c.wait, "Terminating")
	}
}
