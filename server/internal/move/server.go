package move

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/custom"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/registry"
)

// Server is a running server whose objects are read through its API, each resource in pages of one
// state, and one resource after the other. The memory that it needs does not depend on their number.
type Server struct {
	client  *client.REST
	url     string
	rows    *catalog.Snapshot // the built-in ones
	form    *registry.Form
	newest  uint64        // revision that the source has shown
	copied  []*collection // those that Copy has put
	meter   *progress.Meter
	counted int64 // objects that the meter shows
}

// collection is a list of the source with objects of the new store.
type collection struct {
	path             string // "/apis/apps/v1/deployments"
	prefix           string // of the keys in the store: "apps/deployments/"
	apiVersion, kind string // of the objects: those of built-in kinds do not have them in a list
}

// definition is the part of a custom resource definition by which its objects are read.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group    string
		Names    struct{ Plural, Kind string }
		Versions []struct {
			Name            string
			Served, Storage bool
		}
	}
	Status struct {
		Conditions []struct{ Type, Status string }
	}
}

// openServer makes the source of a server's API. It does not connect. Errors are mistakes in the
// configuration.
func openServer(config client.Config, rows *catalog.Catalog, meter *progress.Meter) (*Server, error) {
	config.UserAgent = "capstan"
	c, err := client.NewREST(config)
	if err != nil {
		return nil, err
	}
	return &Server{client: c, url: config.Host, rows: rows.Snapshot(), form: registry.New(rows), meter: meter}, nil
}

// Name implements Source.
func (s *Server) Name() string { return s.url }

// Close implements Source.
func (s *Server) Close() error { s.client.Close(); return nil }

// Copy implements Source.
func (s *Server) Copy(ctx context.Context, into *Copying) (uint64, error) {
	found, err := s.discover(ctx)
	if err != nil {
		return 0, err
	}
	for _, version := range slices.Sorted(maps.Keys(found.remote)) {
		into.Note(fmt.Sprintf("%s is left out: its objects are those of an extension server behind the service %s", version, found.remote[version]))
	}
	known := map[string]bool{} // resources, as the keys of their objects begin
	defined, err := s.copyDefinitions(ctx, found, into)
	if err != nil {
		return 0, err
	}
	for _, t := range slices.SortedFunc(s.rows.Types(), func(a, b *catalog.Type) int { return cmp.Compare(a.Prefix, b.Prefix) }) {
		var row *catalog.Row
		if t.Stored != nil {
			row = found.versionOf(t)
		}
		for _, r := range t.Rows {
			if row != nil || t.Stored == nil {
				known[resourceName(r.GV.Group, r.Plural)] = true
			}
		}
		if row == nil || t.Stored == custom.Definitions(s.rows) {
			continue
		}
		if err := s.copy(ctx, collectionOf(t, row), into, nil); err != nil {
			return 0, err
		}
	}
	for _, d := range defined {
		name := resourceName(d.Spec.Group, d.Spec.Names.Plural)
		if known[name] {
			continue
		}
		known[name] = true
		if err := s.copyCustom(ctx, &d, found, into); err != nil {
			return 0, err
		}
	}
	return s.newest, s.noteUnknown(ctx, found, known, into)
}

// resourceName is the name of a resource in reports, and the beginning of its keys.
func resourceName(group, plural string) string { return cmp.Or(group, "core") + "/" + plural }

// collectionOf is the list of a built-in type in the version of a row.
func collectionOf(t *catalog.Type, row *catalog.Row) *collection {
	return &collection{path: row.GV.Prefix() + "/" + row.Plural, prefix: t.Prefix, apiVersion: row.GV.APIVersion(), kind: row.Kind}
}

// copyDefinitions copies the custom resource definitions, and returns them.
func (s *Server) copyDefinitions(ctx context.Context, found *served, into *Copying) ([]definition, error) {
	t := custom.Definitions(s.rows).Versions
	row := found.versionOf(t)
	if row == nil {
		return nil, nil
	}
	all := map[string]definition{}
	err := s.copy(ctx, collectionOf(t, row), into, func(object []byte) {
		var d definition
		if json.Unmarshal(object, &d) == nil { // else it was left out
			all[d.Metadata.Name] = d
		}
	})
	return slices.SortedFunc(maps.Values(all), func(a, b definition) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) }), err
}

// copyCustom copies the objects of a definition: in the storage version, or the first served one.
func (s *Server) copyCustom(ctx context.Context, d *definition, found *served, into *Copying) error {
	c := &collection{prefix: resourceName(d.Spec.Group, d.Spec.Names.Plural) + "/", kind: d.Spec.Names.Kind}
	version := ""
	for _, v := range d.Spec.Versions {
		if v.Served && (v.Storage || version == "") {
			version = v.Name
		}
	}
	c.apiVersion, c.path = d.Spec.Group+"/"+version, pathOf(d.Spec.Group, version, d.Spec.Names.Plural)
	established := slices.ContainsFunc(d.Status.Conditions, func(one struct{ Type, Status string }) bool {
		return one.Type == "Established" && one.Status == "True"
	})
	switch {
	case !established, found.remote[c.apiVersion] != "": // such objects are in a note, or nobody could make any
		return nil
	case version == "":
		into.LeaveOut(c.prefix, d.Metadata.Name+": no version of the definition is served, so that its objects cannot be read; serve one")
		return nil
	}
	return s.copy(ctx, c, into, nil)
}

// copy copies the objects of a collection; seen, if it is not nil, gets each.
func (s *Server) copy(ctx context.Context, c *collection, into *Copying, seen func(object []byte)) error {
	again := func() error { return into.Again(c.prefix) }
	err := s.each(ctx, c.path, wholeObjects, again, func(object []byte) error {
		if seen != nil {
			seen(object)
		}
		s.count("reading the server")
		return s.put(c, object, into)
	})
	if refused(err) {
		if err := again(); err != nil {
			return err
		}
		into.LeaveOut(c.prefix, err.Error())
		return nil
	}
	s.copied = append(s.copied, c)
	return err
}

// count shows one more object. Their number is unknown before all lists are read.
func (s *Server) count(work string) {
	s.counted++
	s.meter.At(work, "objects", s.counted, 0)
}

// put puts one object of a list.
func (s *Server) put(c *collection, object []byte, into *Copying) error {
	h, err := headOf(c, object)
	if err != nil {
		into.LeaveOut(h.key, fmt.Sprintf("%s: %v", c.path, err))
		return nil
	}
	v, err := s.form.Read(h.key, h.typed(c, object))
	if err != nil {
		into.LeaveOut(h.key, fmt.Sprintf("%s: %v", h.key, err))
		return nil
	}
	s.newest = max(s.newest, h.revision)
	return into.Put(h.key, h.revision, v)
}

// head has the names of an object of a list, and its revision.
type head struct {
	key, apiVersion, kind string
	revision              uint64
}

// headOf reads the head of an object. Errors: an object without a name, whose key is that of the
// collection.
func headOf(c *collection, object []byte) (head, error) {
	h := head{key: c.prefix}
	doc, err := document.DecodeAny(object, document.Limits{MaxNodes: math.MaxInt32})
	if err != nil {
		return h, err
	}
	defer doc.Release()
	root, meta := doc.Root(), doc.Root().Get("metadata")
	name := meta.Get("name").Text()
	if name == "" {
		return h, errors.New("an object of the list has no name")
	}
	if namespace := meta.Get("namespace").Text(); namespace != "" {
		h.key += namespace + "/"
	}
	h.key += name
	h.apiVersion, h.kind = root.Get("apiVersion").Text(), root.Get("kind").Text()
	h.revision = revisionOf(meta.Get("resourceVersion").Text())
	return h, nil
}

// typed is an object with its kind, which a list of built-in kinds leaves out.
func (h *head) typed(c *collection, object []byte) []byte {
	if h.apiVersion != "" && h.kind != "" {
		return object
	}
	return append(fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, c.kind, c.apiVersion), object[1:]...)
}

// noteUnknown names the resources of the source that the server does not have, with the number of
// their objects.
func (s *Server) noteUnknown(ctx context.Context, found *served, known map[string]bool, into *Copying) error {
	for _, r := range found.listed {
		name := resourceName(r.Group, r.Plural)
		if known[name] {
			continue
		}
		known[name] = true
		count := 0
		err := s.each(ctx, pathOf(r.Group, r.Version, r.Plural), onlyMetadata, func() error { count = 0; return nil }, func([]byte) error { count++; return nil })
		var answer *client.Error
		if err != nil && !errors.As(err, &answer) {
			return err
		}
		if err != nil {
			into.Note(fmt.Sprintf("%s is left out: this server does not have the resource in a version of the source, which cannot list it: %v", name, err))
			continue
		}
		into.Note(fmt.Sprintf("%s is left out with %d objects: this server does not have the resource in a version of the source", name, count))
	}
	return nil
}

// Keys implements Source.
func (s *Server) Keys(ctx context.Context, into *Digests) error {
	s.counted = 0
	for _, c := range s.copied {
		if err := s.each(ctx, c.path, onlyMetadata, func() error { into.Again(c.prefix); return nil }, func(object []byte) error {
			h, err := headOf(c, object)
			s.count("comparing with the server")
			if err == nil {
				into.Add(h.key, h.revision)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// explained names the reason why a path cannot be read, and the remedy.
func (s *Server) explained(path string, err error) error {
	var status *client.Error
	var untrusted *tls.CertificateVerificationError
	var way *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &status) && status.Code == 401:
		return fmt.Errorf("%s: the source does not know the client (401): %w; give its credentials with --kubeconfig, --token-file or --client-certificate", path, err)
	case errors.As(err, &status) && status.Code == 403:
		return fmt.Errorf("%s: the client may not read that (403): %w; give credentials of an administrator", path, err)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted: %w; give its authority with --certificate-authority", s.url, untrusted.Err)
	case errors.As(err, &way):
		return fmt.Errorf("%s does not answer: %w; check the URL", s.url, way.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
