package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	for _, c := range []struct {
		path string
		want *Address // nil: not a resource
	}{
		{"/api/v1/pods", &Address{Version: "v1", Resource: "pods"}},
		{"/api/v1/nosuch/x", &Address{Version: "v1", Resource: "nosuch", Name: "x"}},
		{"/api/v1/namespaces", &Address{Version: "v1", Resource: "namespaces"}},
		{"/api/v1/namespaces/ns", &Address{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Itself: true}},
		{"/api/v1/namespaces/ns/", &Address{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Itself: true}},
		{"/api/v1/namespaces/ns/status", &Address{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Itself: true, Subresource: "status"}},
		{"/api/v1/namespaces/ns/finalize", &Address{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns", Itself: true, Subresource: "finalize"}},
		{"/api/v1/namespaces/ns/namespaces/ns", &Address{Version: "v1", Resource: "namespaces", Namespace: "ns", Name: "ns"}},
		{"/api/v1/namespaces/ns/pods", &Address{Version: "v1", Resource: "pods", Namespace: "ns"}},
		{"/api/v1/namespaces/ns/pods/p/log", &Address{Version: "v1", Resource: "pods", Namespace: "ns", Name: "p", Subresource: "log"}},
		{"/api/v1/namespaces/ns/pods/p/proxy/a/b//c", &Address{Version: "v1", Resource: "pods", Namespace: "ns", Name: "p", Subresource: "proxy", Rest: "a/b//c"}},
		{"/apis/apps/v1/watch/namespaces/ns/deployments", &Address{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Old: "watch"}},
		{"/apis/apps/v1/watch/namespaces/ns/deployments/d/x/y/z", &Address{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Name: "d", Subresource: "x", Rest: "y/z", Old: "watch"}},
		{"/api/v1/proxy/namespaces/ns/pods/p", &Address{Version: "v1", Resource: "pods", Namespace: "ns", Name: "p", Old: "proxy"}},
		{"/apis/apps/v1/watch", &Address{Group: "apps", Version: "v1", Resource: "watch"}},
		{"/apis/apps/v1/deployments", &Address{Group: "apps", Version: "v1", Resource: "deployments"}},
		{"/apis/apps/v1/namespaces/ns/deployments/d/scale", &Address{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns", Name: "d", Subresource: "scale"}},
		{"/api", nil}, {"/api/v1", nil}, {"/apis/apps", nil}, {"/apis/apps/v1", nil}, {"/apis/apps/v1/", nil},
		{"/", nil}, {"", nil}, {"/healthz", nil}, {"/apix/v1/pods", nil}, {"/api/v1//pods", nil}, {"/apis//v1/pods", nil}, {"/api/v1/namespaces//pods", nil},
	} {
		got, ok := ParsePath(c.path)
		if !ok {
			if c.want != nil || got != (Address{}) {
				t.Errorf("%q: not a resource, %+v", c.path, got)
			}
			continue
		}
		if c.want == nil {
			t.Errorf("%q: %+v", c.path, got)
			continue
		}
		if diff := cmp.Diff(*c.want, got); diff != "" {
			t.Errorf("%q: %s", c.path, diff)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/api/v1/pods", "/apis/a/b/namespaces/c/d/e/f", "/api/v1/watch/x", "//", "/api//", "/apis/a/b/watch/namespaces/c/d/e/f/g/h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		a, ok := ParsePath(path)
		if ok && (a.Resource == "" || a.Version == "" || a.Subresource != "" && a.Name == "" || a.Rest != "" && a.Subresource == "") || !ok && a != (Address{}) {
			t.Fatalf("%q: %+v", path, a)
		}
	})
}
