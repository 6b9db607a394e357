package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/capstan-dev/capstan/gen/routes"
	"github.com/capstan-dev/capstan/internal/api"
)

// routes builds the router: the generated routes of the resources, and the few
// paths that are not resources. Every route ends in serve, also those that
// nothing answers, so that nobody learns what exists without being known.
func (s *Server) routes() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Pre(cleanPath)
	routes.Register(e, s.groups, resourceHandler{s})

	var paths []string // of the index
	endpoint := func(path string, t target) {
		if !strings.HasSuffix(path, "/") {
			paths = append(paths, path)
		}
		t.place = firstStep(path)
		h := func(c echo.Context) error { return s.serve(c, t) }
		e.Any(path, h)
		e.RouteNotFound(path, h)
	}
	endpoint("/api", target{endpoint: s.versions, aggregated: true})
	endpoint("/api/", target{endpoint: s.versions, aggregated: true})
	for path := range s.discovery {
		t := target{endpoint: s.discovery.serve(s, path), aggregated: path == "/apis"}
		endpoint(path, t)
		endpoint(path+"/", t)
	}
	endpoint("/metrics", target{endpoint: s.serveMetrics, ownForm: true})
	endpoint("/version", target{endpoint: s.version, open: true})
	endpoint("/version/", target{endpoint: s.version, open: true})
	endpoint("/openapi/v2", target{endpoint: s.openAPI2, ownForm: true})
	s.openAPI3Routes(endpoint)
	for _, name := range []string{"healthz", "livez", "readyz"} {
		endpoint("/"+name, target{endpoint: s.health(name, ""), open: true})
		h := func(c echo.Context) error {
			return s.serve(c, target{endpoint: s.health(name, c.Param("check")), place: "/" + name, open: true})
		}
		e.Any("/"+name+"/:check", h)
		for _, c := range s.healthChecks(name) {
			paths = append(paths, "/"+name+"/"+c.name)
		}
	}
	slices.Sort(paths)
	endpoint("/", target{endpoint: s.index(paths), ownForm: true})
	endpoint("/index.html", target{endpoint: s.index(paths), ownForm: true})
	s.profiling(e)
	unknown := func(c echo.Context) error {
		// The router does not know all methods. One that is like all that no path
		// answers says whether there is something at the path.
		e.Router().Find(http.MethodTrace, echo.GetPath(c.Request()), c)
		if c.Path() != "/*" {
			return c.Handler()(c)
		}
		return s.serve(c, target{})
	}
	e.RouteNotFound("/*", unknown)
	e.HTTPErrorHandler = func(_ error, c echo.Context) { _ = unknown(c) }
	return e
}

// cleanPath makes the path of a resource with slashes behind it the path of the
// resource, and takes percent-encodings out where they hide no slash.
func cleanPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		url := c.Request().URL
		if url.RawPath != "" && strings.Count(url.RawPath, "/") == strings.Count(url.Path, "/") {
			url.RawPath = ""
		}
		if strings.HasSuffix(url.Path, "/") && (strings.HasPrefix(url.Path, "/api/") || strings.HasPrefix(url.Path, "/apis/")) {
			url.Path, url.RawPath = strings.TrimRight(url.Path, "/"), strings.TrimRight(url.RawPath, "/")
		}
		return next(c)
	}
}

// firstStep is the first step of a path.
func firstStep(path string) string {
	first, _, _ := strings.Cut(path[1:], "/")
	return "/" + first
}

// resourceHandler is what the generated routes call.
type resourceHandler struct{ s *Server }

func (h resourceHandler) Collection(c echo.Context, res *api.Resource) error {
	return h.serve(c, target{resource: res, namespace: c.Param("namespace")})
}

func (h resourceHandler) Object(c echo.Context, res *api.Resource) error {
	t := target{resource: res, namespace: c.Param("namespace"), name: c.Param("name")}
	return h.serve(c, t.ofCluster())
}

func (h resourceHandler) Subresource(c echo.Context, res *api.Resource, sub *api.Subresource) error {
	t := target{resource: res, sub: sub, namespace: c.Param("namespace"), name: c.Param("name")}
	return h.serve(c, t.ofCluster())
}

func (h resourceHandler) Watch(c echo.Context, res *api.Resource) error {
	t := target{resource: res, namespace: c.Param("namespace"), name: c.Param("name"), watchPath: true}
	return h.serve(c, t.ofCluster())
}

// ofCluster puts a namespace's own name in its place: the router knows it as the
// parameter namespace (gen/routes).
func (t target) ofCluster() target {
	if !t.resource.Namespaced && t.name == "" {
		t.name, t.namespace = t.namespace, ""
	}
	return t
}

// serve checks the names that came with the path. A name that could not be an
// object's (a slash, a percent sign, "..") is not looked for.
func (h resourceHandler) serve(c echo.Context, t target) error {
	path := c.Request().URL.RawPath
	if path == "" {
		path = c.Request().URL.Path
	}
	// The router takes the rest of a path for the last name in it, and nothing for a
	// name.
	if strings.Contains(t.name, "/") || strings.Contains(path, "//") && (t.sub == nil || !t.sub.Endpoint.Proxies()) {
		return h.s.serve(c, target{})
	}
	if c.Request().URL.RawPath != "" {
		t.namespace, t.name = unescape(t.namespace), unescape(t.name)
	}
	if bad := badSegment(t.namespace) || badSegment(t.name); bad {
		t.endpoint = func(*request) error {
			return api.BadRequest("a name in a path may not be \".\" or \"..\", must be UTF-8, and may not hold \"/\", \"%%\" or control characters")
		}
	}
	return h.s.serve(c, t)
}

func unescape(segment string) string {
	if text, err := url.PathUnescape(segment); err == nil {
		return text
	}
	return segment
}

func badSegment(s string) bool {
	return s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '/' || c == '%' || c == 0x7f })
}
