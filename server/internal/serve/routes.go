package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// paths are the routes of the frame. Each leads to the stages, with its target: so
// unauthenticated clients do not learn which paths exist.
type paths struct {
	*echo.Echo
	env    *request.Env
	run    echo.HandlerFunc // the stages
	listed []string         // in the answer at /
}

// at adds a route of the frame, whose target is found for each request.
func (p *paths) at(route string, find func(ctx context.Context, u *url.URL) request.Target) {
	p.GET(route, func(c echo.Context) error {
		r, q := &c.(*exchange).r, c.Request()
		p.env.Begin(r, c.Response().Writer, q, find(q.Context(), q.URL))
		return p.run(c)
	})
}

// fixed adds a path.
func (p *paths) fixed(path string, t request.Target) {
	if t.EndpointPath = request.FirstStep(path); !strings.HasSuffix(path, "/") {
		p.list(path)
	}
	p.at(path, func(context.Context, *url.URL) request.Target { return t })
}

// below adds all paths below a step, "/healthz/", by their rest.
func (p *paths) below(step string, find func(rest string) request.Target) {
	p.at(step+"*", func(_ context.Context, u *url.URL) request.Target {
		if rest := strings.TrimPrefix(pathOf(u), step); rest != "" {
			return find(rest)
		}
		return request.Target{}
	})
}

func (p *paths) list(path string) { p.listed = append(p.listed, path) }

// routes adds all paths. Resources are looked up in the catalog, since types come and go
// while requests run.
func (h *Handler) routes(p *paths) {
	for _, route := range []string{"/api", "/api/*", "/apis", "/apis/*"} {
		p.at(route, h.find)
	}
	p.at("/*", func(context.Context, *url.URL) request.Target { return request.Target{} })

	x := h.cfg.Endpoints
	p.fixed("/metrics", request.Target{Endpoint: x.ServeMetrics, OwnRepresentation: true, Draining: true})
	p.fixed("/version", request.Target{Endpoint: x.Version, AlwaysServed: true})
	p.fixed("/version/", request.Target{Endpoint: x.Version, AlwaysServed: true})
	p.fixed("/openapi/v2", request.Target{Endpoint: x.OpenAPI2, OwnRepresentation: true})
	if h.cfg.OpenAPI3 {
		p.fixed("/openapi/v3", request.Target{Endpoint: x.OpenAPI3Index, OwnRepresentation: true})
		p.below("/openapi/", x.OpenAPI3At)
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		p.fixed("/"+name, request.Target{Endpoint: x.Health(name, ""), AlwaysServed: true, Draining: true})
		p.below("/"+name+"/", func(check string) request.Target {
			return request.Target{Endpoint: x.Health(name, check), EndpointPath: "/" + name, AlwaysServed: true, Draining: true}
		})
		for _, c := range h.cfg.Health.Checks(name) {
			p.list("/" + name + "/" + c.Name)
		}
	}
	p.fixed("/.well-known/openid-configuration", request.Target{Endpoint: x.IssuerConfiguration, OwnRepresentation: true})
	p.fixed(endpoints.KeysPath, request.Target{Endpoint: x.IssuerKeys, OwnRepresentation: true})
	if e := h.cfg.Explorer; e != nil {
		p.fixed(endpoints.ExplorerPath, e.Redirect())
		p.at(endpoints.ExplorerPath+"/*", func(_ context.Context, u *url.URL) request.Target {
			return e.At(strings.TrimPrefix(pathOf(u), endpoints.ExplorerPath+"/"))
		})
	}
	p.below("/debug/", x.Debug(h.cfg.Flow, h.cfg.Profiles, h.cfg.Verbosity, h.cfg.Slow))
	for _, path := range []string{"/", "/index.html"} {
		t := request.Target{Endpoint: h.listPaths(p.listed), EndpointPath: path, OwnRepresentation: true}
		p.at(path, func(context.Context, *url.URL) request.Target { return t })
	}
}

// listPaths answers with the paths that are not resources.
func (h *Handler) listPaths(fixed []string) request.Verb {
	return func(r *request.Request) error {
		all := slices.Concat(fixed, discovery.Paths(h.catalog.Snapshot()), h.cfg.Endpoints.OpenAPI3Paths())
		slices.Sort(all)
		body, err := json.MarshalIndent(map[string][]string{"paths": all}, "", "  ")
		if err != nil {
			return err
		}
		return r.Send(http.StatusOK, "application/json", body)
	}
}

// find finds the target of a path below /api or /apis. A type that the path may mean, and
// whose definition was just accepted, is waited for.
func (h *Handler) find(ctx context.Context, u *url.URL) request.Target {
	path, snapshot := pathOf(u), h.catalog.Snapshot()
	t, ok := h.served(snapshot, u, path)
	if t.Row == nil && t.Remote == nil {
		h.cfg.Definitions.Await(ctx)
		if now := h.catalog.Snapshot(); now != snapshot {
			t, ok = h.served(now, u, path)
		}
	}
	if !ok {
		return request.Target{}
	}
	return t
}

// served finds the resource of a path in the catalog. A path that only has the form of a
// resource's has no target, but is authorized as the resource that it names.
func (h *Handler) served(snapshot *catalog.Snapshot, u *url.URL, path string) (t request.Target, ok bool) {
	if remote := snapshot.RemoteAt(path); remote != nil {
		return h.remote(remote, u.Path), true
	}
	if t, ok := h.cfg.Endpoints.DiscoveryAt(snapshot, path); ok {
		return t, true
	}
	address, ok := catalog.ParsePath(path)
	if !ok || strings.HasPrefix(path, "//") {
		return t, false
	}
	at, found := snapshot.Resolve(&address)
	if !found {
		return request.Target{Unserved: address, WatchPath: address.Old == "watch"}, true
	}
	t = request.Target{Ref: objects.Ref{Row: at.Row, Sub: at.Sub, Namespace: at.Namespace, Name: at.Name}, WatchPath: at.Watch}
	if u.RawPath != "" {
		t.Namespace, t.Name = unescape(t.Namespace), unescape(t.Name)
	}
	if catalog.BadSegment(t.Namespace) || catalog.BadSegment(t.Name) {
		// Such a name could not be an object's, so it is not looked up. For authorization
		// a slash in it counts as one of the path.
		address, _ = catalog.ParsePath(u.Path)
		return request.Target{Unserved: address, Endpoint: badName}, true
	}
	return t, true
}

// remote is the target of a path below a group version of an extension server. Only
// that server knows its paths; the form of the path is authorized, the same decoded text
// that the server receives.
func (h *Handler) remote(v *catalog.Remote, path string) request.Target {
	t := request.Target{Remote: v, Endpoint: h.cfg.Extensions.Serve, OwnRepresentation: true}
	if address, ok := catalog.ParsePath(path); ok {
		t.Unserved, t.WatchPath = address, address.Old == "watch"
		t.Namespace, t.Name = address.Namespace, address.Name
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		if step == "" || step == "." || step == ".." { // the server might read another path
			t.Endpoint = badName
		}
	}
	return t
}

func badName(*request.Request) error {
	return api.BadRequest("a name in a path may not be empty, \".\" or \"..\", must be UTF-8, and may not hold \"/\", \"%%\" or control characters")
}

// pathOf is the path of a request as routes see it: with its escapes where they hide a
// slash.
func pathOf(u *url.URL) string {
	if u.RawPath != "" {
		return u.RawPath
	}
	return u.Path
}

// cleanPath removes slashes from the end of a resource's path, and percent-encodings that
// do not hide a slash.
func cleanPath(u *url.URL) {
	if u.RawPath != "" && strings.Count(u.RawPath, "/") == strings.Count(u.Path, "/") {
		u.RawPath = ""
	}
	if strings.HasSuffix(u.Path, "/") && (strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/apis/")) {
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	}
}

func unescape(segment string) string {
	if text, err := url.PathUnescape(segment); err == nil {
		return text
	}
	return segment
}
