package front

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// router finds what a path is the address of: an endpoint that every server has, or what
// the current snapshot of the catalog serves. All requests end in serve, also those
// that nothing answers, so that nobody learns what exists without being known.
type router struct {
	s     *Front
	fixed map[string]Target                   // endpoints, by path
	below map[string]func(rest string) Target // those of which the rest of the path says more, by its first step: "/healthz/"
	index []string                            // paths that people may want to see
	// documents finds what describes the snapshot at a path.
	documents func(snapshot *catalog.Snapshot, path string) (Target, bool)
	More      func() []string // further paths that people may want to see
}

// ServeHTTP implements http.Handler.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cleanPath(r.URL)
	rt.s.Serve(w, r, rt.find(r.URL))
}

func (rt *router) find(u *url.URL) Target {
	path := u.RawPath
	if path == "" {
		path = u.Path
	}
	if strings.HasPrefix(path, "/api") {
		if t, ok := rt.served(u, path); ok {
			return t
		}
	}
	if t, ok := rt.fixed[path]; ok {
		return t
	}
	if first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); rest != "" {
		if find := rt.below["/"+first+"/"]; find != nil {
			return find(rest)
		}
	}
	return Target{}
}

// served finds what the catalog has at a path. A path that only looks like that of a
// resource is no target, but is authorized as the resource that it names.
func (rt *router) served(u *url.URL, path string) (t Target, ok bool) {
	snapshot := rt.s.catalog.Snapshot()
	if t, ok := rt.documents(snapshot, path); ok {
		return t, true
	}
	address, ok := catalog.ParsePath(path)
	if !ok || strings.HasPrefix(path, "//") {
		return t, false
	}
	at, found := snapshot.Resolve(&address)
	if !found {
		return Target{unserved: address}, true
	}
	t = Target{Ref: objects.Ref{Row: at.Row, Sub: at.Sub, Namespace: at.Namespace, Name: at.Name}, WatchPath: at.Watch}
	if u.RawPath != "" {
		t.Namespace, t.Name = unescape(t.Namespace), unescape(t.Name)
	}
	if catalog.BadSegment(t.Namespace) || catalog.BadSegment(t.Name) {
		// Such a name could not be an object's, so it is not looked for. For authorization a
		// slash in it is one of the path.
		address, _ = catalog.ParsePath(u.Path)
		return Target{unserved: address, Endpoint: badName}, true
	}
	return t, true
}

func badName(*Request) error {
	return api.BadRequest("a name in a path may not be \".\" or \"..\", must be UTF-8, and may not hold \"/\", \"%%\" or control characters")
}

// NewRouter makes a router that finds resources and, by documents, the documents of discovery.
func NewRouter(s *Front, documents func(*catalog.Snapshot, string) (Target, bool)) *router {
	rt := &router{s: s, documents: documents, fixed: map[string]Target{}, below: map[string]func(string) Target{}}
	rt.fixed["/"] = Target{Endpoint: rt.listPaths, Place: "/", OwnForm: true}
	rt.fixed["/index.html"] = Target{Endpoint: rt.listPaths, Place: "/index.html", OwnForm: true}
	return rt
}

// Add makes a path the address of an endpoint.
func (rt *router) Add(path string, t Target) {
	if !strings.HasSuffix(path, "/") {
		rt.List(path)
	}
	t.Place = FirstStep(path)
	rt.fixed[path] = t
}

// AddBelow lets find say what is at the paths below a step, "/healthz/", by their rest.
func (rt *router) AddBelow(step string, find func(rest string) Target) { rt.below[step] = find }

// List shows a path to people who look around.
func (rt *router) List(path string) { rt.index = append(rt.index, path) }

// listPaths lists the paths that are not resources, for people who look around.
func (rt *router) listPaths(r *Request) error {
	paths := slices.Concat(rt.index, discovery.Paths(rt.s.catalog.Snapshot()), rt.More())
	slices.Sort(paths)
	body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
}

// cleanPath makes the path of a resource with slashes behind it the path of the
// resource, and takes percent-encodings out where they hide no slash.
func cleanPath(u *url.URL) {
	if u.RawPath != "" && strings.Count(u.RawPath, "/") == strings.Count(u.Path, "/") {
		u.RawPath = ""
	}
	if strings.HasSuffix(u.Path, "/") && (strings.HasPrefix(u.Path, "/api/") || strings.HasPrefix(u.Path, "/apis/")) {
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	}
}

// FirstStep is the first step of a path.
func FirstStep(path string) string {
	first, _, _ := strings.Cut(path[1:], "/")
	return "/" + first
}

func unescape(segment string) string {
	if text, err := url.PathUnescape(segment); err == nil {
		return text
	}
	return segment
}
