package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// EmptyNamespace deletes the objects that extension servers have in a namespace, and
// counts those that are left, by "plural.group". unknown are the servers that cannot be
// asked now, failed the resources whose objects could not be deleted.
func (x *Extensions) EmptyNamespace(ctx context.Context, namespace string) (left map[string]int, unknown, failed []error) {
	left = map[string]int{}
	if x == nil {
		return left, nil, nil
	}
	done := map[string]bool{} // resources of a group, in its preferred version
	for _, s := range x.byPriority() {
		if s.available.status != "True" || s.way.documents.Load() == nil {
			unknown = append(unknown, fmt.Errorf("%s: the server is currently unable to handle the request", s.APIVersion()))
			continue
		}
		for _, r := range s.namespaced() {
			name := r.Name + "." + s.Group
			if done[name] {
				continue
			}
			done[name] = true
			n, err := x.emptyResource(ctx, s, &r, namespace)
			if n > 0 {
				left[name] = n
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return left, unknown, failed
}

// byPriority are all servers of the catalog, the preferred version of each group first.
func (x *Extensions) byPriority() []*server {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.SortedFunc(maps.Values(x.current), func(a, b *server) int {
		if a.Group != b.Group {
			return strings.Compare(a.Group, b.Group)
		}
		return b.VersionPriority - a.VersionPriority
	})
}

// namespaced are the resources whose objects are in namespaces and can be deleted.
func (s *server) namespaced() (all []api.ResourceDescription) {
	var list api.ResourceList
	if json.Unmarshal(s.way.documents.Load().Resources, &list) != nil {
		return nil
	}
	for _, r := range list.Resources {
		if r.Namespaced && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
			all = append(all, r)
		}
	}
	return all
}

// emptyResource deletes the objects of a resource in a namespace, and counts the rest.
func (x *Extensions) emptyResource(ctx context.Context, s *server, r *api.ResourceDescription, namespace string) (left int, err error) {
	path := "/apis/" + s.APIVersion() + "/namespaces/" + url.PathEscape(namespace) + "/" + url.PathEscape(r.Name)
	names, err := x.list(ctx, s, path)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	if slices.Contains(r.Verbs, "deletecollection") {
		_, err = x.ask(ctx, s, http.MethodDelete, path+"?propagationPolicy=Background")
	} else {
		for _, name := range names {
			_, e := x.ask(ctx, s, http.MethodDelete, path+"/"+url.PathEscape(name)+"?propagationPolicy=Background")
			err = errors.Join(err, e)
		}
	}
	if names, e := x.list(ctx, s, path); e == nil {
		return len(names), err
	}
	return len(names), err
}

// list lists the names of the objects at a path.
func (x *Extensions) list(ctx context.Context, s *server, path string) (names []string, err error) {
	text, err := x.ask(ctx, s, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the list is not JSON: %w", err)
	}
	for _, one := range list.Items {
		names = append(names, one.Metadata.Name)
	}
	return names, nil
}

// ask sends a request of the server's own to an extension server. A missing object is
// gone, as it should be.
func (x *Extensions) ask(ctx context.Context, s *server, method, path string) ([]byte, error) {
	address, err := x.cfg.Backends.Resolve(ctx, s.at.namespace, s.at.name, s.at.port)
	if err != nil {
		return nil, err
	}
	by := s.way.requests.Begin(x.cfg.Certificate())
	defer by.End()
	resp, err := x.request(ctx, method, by, "https://"+address+path, "")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxOpenAPI))
	if err == nil && (resp.StatusCode < 200 || resp.StatusCode > 299) && resp.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s %s: status %d", method, path, resp.StatusCode)
	}
	return text, err
}
