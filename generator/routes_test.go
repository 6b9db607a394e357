package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/gen/catalog"
	"github.com/capstan-dev/capstan/gen/routes"
	"github.com/capstan-dev/capstan/internal/api"
)

// noHooks has every method and runs none: the catalog only binds them.
type noHooks struct{ catalog.Hooks }

type noConversions struct{ catalog.Conversions }

// recorder writes what the router called it with.
type recorder struct{}

func record(c echo.Context, what, plural string) error {
	return c.String(http.StatusOK, fmt.Sprintf("%s %s ns=%s name=%s", what, plural, c.Param("namespace"), c.Param("name")))
}

func (recorder) Collection(c echo.Context, r *api.Resource) error {
	return record(c, "collection", r.Plural)
}

func (recorder) Object(c echo.Context, r *api.Resource) error { return record(c, "object", r.Plural) }

func (recorder) Subresource(c echo.Context, r *api.Resource, s *api.Subresource) error {
	return record(c, s.Name, r.Plural)
}

func (recorder) Watch(c echo.Context, r *api.Resource) error { return record(c, "watch", r.Plural) }

func TestRoutes(t *testing.T) {
	e := echo.New()
	groups := catalog.New(noHooks{}, noConversions{})
	routes.Register(e, groups, recorder{})
	e.RouteNotFound("/*", func(c echo.Context) error { return c.String(http.StatusNotFound, "nothing") })
	for _, c := range []struct{ path, want string }{
		{"/api/v1/namespaces", "collection namespaces ns= name="},
		{"/api/v1/namespaces/default", "object namespaces ns= name=default"},
		{"/api/v1/namespaces/default/status", "status namespaces ns= name=default"},
		{"/api/v1/namespaces/default/finalize", "finalize namespaces ns= name=default"},
		{"/api/v1/namespaces/status", "object namespaces ns= name=status"},
		{"/api/v1/namespaces/status/status", "status namespaces ns= name=status"},
		{"/api/v1/namespaces/pods", "object namespaces ns= name=pods"},
		{"/api/v1/namespaces/pods/pods", "collection pods ns=pods name="},
		{"/api/v1/namespaces/status/pods/status", "object pods ns=status name=status"},
		{"/api/v1/namespaces/default/pods", "collection pods ns=default name="},
		{"/api/v1/namespaces/default/pods/a", "object pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a.b.c", "object pods ns=default name=a.b.c"},
		{"/api/v1/namespaces/kube-system/pods/a%2Fb", "object pods ns=kube-system name=a%2Fb"},
		{"/api/v1/namespaces/default/pods/status", "object pods ns=default name=status"},
		{"/api/v1/namespaces/default/pods/status/status", "status pods ns=default name=status"},
		{"/api/v1/namespaces/default/pods/a/log", "log pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a/nothing", "nothing"},
		{"/api/v1/namespaces/default/pods/a/proxy", "proxy pods ns=default name=a"},
		{"/api/v1/namespaces/default/pods/a/proxy/deep/path", "proxy pods ns=default name=a"},
		{"/api/v1/namespaces/default/nothing", "nothing"},
		{"/api/v1/namespaces/default/nothing/a", "nothing"},
		{"/api/v1/namespaces/default/nodes", "nothing"},
		{"/api/v1/pods", "collection pods ns= name="},
		{"/api/v1/pods/a", "nothing"},
		{"/api/v1/nodes/n1", "object nodes ns= name=n1"},
		{"/api/v1/nodes/n1/status", "status nodes ns= name=n1"},
		{"/api/v1/nodes/n1/proxy/x", "proxy nodes ns= name=n1"},
		{"/api/v1/nodes/pods", "object nodes ns= name=pods"},
		{"/api/v1/watch/pods", "watch pods ns= name="},
		{"/api/v1/watch/namespaces", "watch namespaces ns= name="},
		{"/api/v1/watch/namespaces/default", "watch namespaces ns= name=default"},
		{"/api/v1/watch/namespaces/default/pods", "watch pods ns=default name="},
		{"/api/v1/watch/namespaces/default/pods/a", "watch pods ns=default name=a"},
		{"/api/v1/watch/nodes/n1", "watch nodes ns= name=n1"},
		{"/api/v1/watch/bindings", "nothing"},
		{"/apis/apps/v1/deployments", "collection deployments ns= name="},
		{"/apis/apps/v1/namespaces/d/deployments/a/scale", "scale deployments ns=d name=a"},
		{"/apis/apps/v1/watch/namespaces/d/deployments/a", "watch deployments ns=d name=a"},
		{"/apis/apps/v1/namespaces/d", "nothing"},
		{"/apis/apps/v2/deployments", "nothing"},
		{"/api/v1", "nothing"},
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"} {
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(method, c.path, nil))
			if got := w.Body.String(); got != c.want {
				t.Errorf("%s %s: %s, want %s", method, c.path, got, c.want)
			}
		}
	}
}

// Every row of the catalog has its routes.
func TestEveryResourceHasRoutes(t *testing.T) {
	e := echo.New()
	groups := catalog.New(noHooks{}, noConversions{})
	routes.Register(e, groups, recorder{})
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			path, ns := gv.Prefix()+"/", ""
			if res.Namespaced {
				path, ns = path+"namespaces/x/", "x"
			}
			path += res.Plural + "/y"
			want := map[string]string{path: fmt.Sprintf("object %s ns=%s name=y", res.Plural, ns)}
			for j := range res.Subresources {
				sub := res.Subresources[j].Name
				want[path+"/"+sub] = fmt.Sprintf("%s %s ns=%s name=y", sub, res.Plural, ns)
			}
			for path, want := range want {
				w := httptest.NewRecorder()
				e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if got := w.Body.String(); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
		}
	}
}
