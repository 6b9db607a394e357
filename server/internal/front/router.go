package front

import (
	"context"
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

// router finds the target of a path: an endpoint of every server, or a resource in the
// current snapshot of the catalog. All requests go to Serve, also those for unknown
// paths, so that unauthenticated clients do not learn which paths exist.
type router struct {
	s     *Pipeline
	fixed map[string]Target                   // endpoints, by path
	below map[string]func(rest string) Target // endpoints that use the rest of the path, by its first step: "/healthz/"
	index []string                            // paths to list
	// documents finds the document that describes the snapshot at a path.
	documents func(snapshot *catalog.Snapshot, path string) (Target, bool)
	more      func() []string // further paths to list
}

// ServeHTTP implements http.Handler.
func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt.s.finish(rt.serve(w, r))
}

func (rt *router) serve(w http.ResponseWriter, r *http.Request) *Request {
	cleanPath(r.URL)
	return rt.s.Serve(w, r, rt.find(r.Context(), r.URL))
}

// find finds the target of a path. A type that the path may mean, and whose definition was
// just accepted, is waited for.
func (rt *router) find(ctx context.Context, u *url.URL) Target {
	path := u.RawPath
	if path == "" {
		path = u.Path
	}
	if strings.HasPrefix(path, "/api") {
		snapshot := rt.s.catalog.Snapshot()
		t, ok := rt.served(snapshot, u, path)
		if t.Row == nil && t.Remote == nil {
			rt.s.awaitTypes(ctx)
			if now := rt.s.catalog.Snapshot(); now != snapshot {
				t, ok = rt.served(now, u, path)
			}
		}
		if ok {
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

// awaitTypes waits for the rows of definitions that were just stored.
func (f *Front) awaitTypes(ctx context.Context) {
	if f.cfg.AwaitTypes != nil {
		f.cfg.AwaitTypes(ctx)
	}
}

// served finds the resource of a path in the catalog. A path that only has the form of a
// resource's has no target, but is authorized as the resource that it names.
func (rt *router) served(snapshot *catalog.Snapshot, u *url.URL, path string) (t Target, ok bool) {
	if remote := snapshot.RemoteAt(path); remote != nil {
		return rt.remote(remote, u.Path), true
	}
	if t, ok := rt.documents(snapshot, path); ok {
		return t, true
	}
	address, ok := catalog.ParsePath(path)
	if !ok || strings.HasPrefix(path, "//") {
		return t, false
	}
	at, found := snapshot.Resolve(&address)
	if !found {
		return Target{unserved: address, WatchPath: address.Old == "watch"}, true
	}
	t = Target{Ref: objects.Ref{Row: at.Row, Sub: at.Sub, Namespace: at.Namespace, Name: at.Name}, WatchPath: at.Watch}
	if u.RawPath != "" {
		t.Namespace, t.Name = unescape(t.Namespace), unescape(t.Name)
	}
	if catalog.BadSegment(t.Namespace) || catalog.BadSegment(t.Name) {
		// Such a name could not be an object's, so it is not looked up. For authorization
		// a slash in it counts as one of the path.
		address, _ = catalog.ParsePath(u.Path)
		return Target{unserved: address, Endpoint: badName}, true
	}
	return t, true
}

// remote is the target of a path below a group version of an extension server. The server
// itself knows what is there; the form of the path is authorized, the same decoded text
// that the server receives.
func (rt *router) remote(v *catalog.Remote, path string) Target {
	t := Target{Remote: v, Endpoint: rt.s.remote, OwnRepresentation: true}
	if address, ok := catalog.ParsePath(path); ok {
		t.unserved, t.WatchPath = address, address.Old == "watch"
		t.Namespace, t.Name = address.Namespace, address.Name
	}
	for step := range strings.SplitSeq(path[1:], "/") {
		if step == "" || step == "." || step == ".." { // the server might read another path
			t.Endpoint = badName
		}
	}
	return t
}

func badName(*Request) error {
	return api.BadRequest("a name in a path may not be empty, \".\" or \"..\", must be UTF-8, and may not hold \"/\", \"%%\" or control characters")
}

// NewRouter makes a router that finds resources and, by documents, the documents of discovery.
// more are the paths that are listed besides those that are added.
func NewRouter(s *Pipeline, documents func(*catalog.Snapshot, string) (Target, bool), more func() []string) *router {
	rt := &router{s: s, documents: documents, more: more, fixed: map[string]Target{}, below: map[string]func(string) Target{}}
	rt.fixed["/"] = Target{Endpoint: rt.listPaths, EndpointPath: "/", OwnRepresentation: true}
	rt.fixed["/index.html"] = Target{Endpoint: rt.listPaths, EndpointPath: "/index.html", OwnRepresentation: true}
	return rt
}

// Add adds an endpoint at a path.
func (rt *router) Add(path string, t Target) {
	if !strings.HasSuffix(path, "/") {
		rt.List(path)
	}
	t.EndpointPath = FirstStep(path)
	rt.fixed[path] = t
}

// AddBelow adds find for the paths below a step, "/healthz/", by their rest.
func (rt *router) AddBelow(step string, find func(rest string) Target) { rt.below[step] = find }

// List adds a path to the list of paths.
func (rt *router) List(path string) { rt.index = append(rt.index, path) }

// listPaths lists the paths that are not resources.
func (rt *router) listPaths(r *Request) error {
	paths := slices.Concat(rt.index, discovery.Paths(rt.s.catalog.Snapshot()), rt.more())
	slices.Sort(paths)
	body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
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
