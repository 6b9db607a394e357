package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// served are the resources of a source.
type served struct {
	listed []catalog.Resource // that have lists, in the order of the source: preferred versions first
	// remote are the group versions of extension servers, each with its service.
	remote map[string]string
}

// has reports whether a version of a resource can be listed.
func (f *served) has(group, version, plural string) bool {
	return slices.Contains(f.listed, catalog.Resource{Group: group, Version: version, Plural: plural})
}

// versionOf is the row of a type in the version that its lists are read in: the storage version, or
// another one that the source has; nil for a type that the source does not have in a known version.
func (f *served) versionOf(t *catalog.Type) *catalog.Row {
	for _, row := range append([]*catalog.Row{t.Stored}, t.Rows...) {
		if f.has(row.GV.Group, row.GV.Version, row.Plural) {
			return row
		}
	}
	return nil
}

// mostDiscovery bounds the bytes of one document of discovery.
const mostDiscovery = 16 << 20

// read reads a document of discovery.
func (s *Server) read(ctx context.Context, path string, into any) error {
	text, err := s.client.Get(ctx, path, mostDiscovery)
	if err != nil {
		return s.explained(path, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s%s is not what an API server answers: give the URL of an API server", s.url, path)
	}
	return nil
}

// discover finds the resources of the source. Those of extension servers are not asked for, since
// their objects are kept elsewhere.
func (s *Server) discover(ctx context.Context) (*served, error) {
	var core struct{ Versions []string }
	if err := s.read(ctx, "/api", &core); err != nil {
		return nil, err
	}
	var others struct {
		Groups []struct {
			Name     string
			Versions []struct{ Version string }
		}
	}
	if err := s.read(ctx, "/apis", &others); err != nil {
		return nil, err
	}
	if len(core.Versions)+len(others.Groups) == 0 {
		return nil, fmt.Errorf("%s has no resources: give the URL of an API server", s.url)
	}
	found := &served{}
	var err error
	if found.remote, err = s.remotes(ctx); err != nil {
		return nil, err
	}
	for _, version := range core.Versions {
		if err := s.list(ctx, found, "", version); err != nil {
			return nil, err
		}
	}
	for _, group := range others.Groups {
		for _, v := range group.Versions {
			if err := s.list(ctx, found, group.Name, v.Version); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// list adds the resources of a group version that have lists.
func (s *Server) list(ctx context.Context, found *served, group, version string) error {
	if found.remote[group+"/"+version] != "" {
		return nil
	}
	var all struct {
		Resources []struct {
			Name  string
			Verbs []string
		}
	}
	if err := s.read(ctx, pathOf(group, version, ""), &all); err != nil {
		return err
	}
	for _, r := range all.Resources {
		if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
			found.listed = append(found.listed, catalog.Resource{Group: group, Version: version, Plural: r.Name})
		}
	}
	return nil
}

// pathOf is the path of a collection, or of a group version for "".
func pathOf(group, version, plural string) string {
	path := "/apis/" + group + "/" + version
	if group == "" {
		path = "/api/" + version
	}
	return strings.TrimSuffix(path+"/"+plural, "/")
}

// remotes are the group versions of extension servers, each with its service. A source need not know
// any.
func (s *Server) remotes(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := s.each(ctx, pathOf("apiregistration."+profile.GroupSuffix, "v1", "apiservices"), wholeObjects, func() error { return nil }, func(object []byte) error {
		var one struct {
			Spec struct {
				Group, Version string
				Service        *struct{ Namespace, Name string }
			}
		}
		if err := json.Unmarshal(object, &one); err != nil {
			return errNoList
		}
		if service := one.Spec.Service; service != nil {
			all[one.Spec.Group+"/"+one.Spec.Version] = service.Namespace + "/" + service.Name
		}
		return nil
	})
	if client.IsNotFound(err) {
		err = nil
	}
	return all, err
}

// refused reports whether the source has answered that a resource cannot be listed by anybody at this
// time, unlike one that this client may not list.
func refused(err error) bool {
	var status *client.Error
	if !errors.As(err, &status) {
		return false
	}
	return status.Code != 401 && status.Code != 403 && status.Code != 429
}
