package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// server reads the surface of a running server: its OpenAPI 3 documents, and the names in
// its discovery.
func (s Source) server(ctx context.Context, url string) (*Surface, error) {
	config := client.Config{Host: url}
	if s.Kubeconfig != "" {
		read, _, err := client.LoadKubeconfig(s.Kubeconfig, s.Context)
		if err != nil {
			return nil, err
		}
		config = read
		config.Host = url
	}
	rest, err := client.NewREST(config)
	if err != nil {
		return nil, err
	}
	get := func(path string, into any) ([]byte, error) { return fetch(ctx, rest, url, path, into) }
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if _, err := get("/openapi/v3", &index); err != nil {
		return nil, err
	}
	surface := newSurface(url, 0)
	for _, name := range sorted(index.Paths) {
		parts := strings.Split(name, "/")
		if version := parts[len(parts)-1]; !resourceVersion(parts) || version == "" {
			continue
		}
		body, err := get(index.Paths[name].ServerRelativeURL, nil)
		if err != nil {
			return nil, err
		}
		f, err := foreign.Parse(url+"/openapi/v3/"+name, body)
		if err != nil {
			return nil, err
		}
		m := &manifest{File: f, done: map[string]*shape{}}
		m.openAPI(surface, f.Roots[0])
		if err := f.Err(); err != nil {
			return nil, err
		}
		if err := surface.discover("/"+name, get); err != nil {
			return nil, err
		}
	}
	surface.mark()
	return surface, nil
}

// fetch gets a document of a server.
func fetch(ctx context.Context, rest *client.REST, url, path string, into any) ([]byte, error) {
	body, err := rest.Get(ctx, path, foreign.MostBytes)
	var status *client.Error
	if errors.As(err, &status) && (status.Code == http.StatusForbidden || status.Code == http.StatusUnauthorized) {
		return nil, fmt.Errorf("%s%s: the server answers %d; name a kubeconfig whose user may read it: --kubeconfig FILE --context NAME", url, path, status.Code)
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w; check the URL and the credentials", url, path, err)
	}
	if into == nil {
		return body, nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("%s%s: the answer is not JSON; is it a server of this kind? %w", url, path, err)
	}
	return body, nil
}

// resourceVersion reports whether a path is that of a group version.
func resourceVersion(parts []string) bool {
	return len(parts) == 2 && parts[0] == "api" || len(parts) == 3 && parts[0] == "apis"
}

// discover adds the names of the resources of a group version.
func (s *Surface) discover(at string, get func(string, any) ([]byte, error)) error {
	var found struct {
		Resources []struct {
			Name, SingularName, Kind string
			Namespaced               bool
			Verbs                    []string
			ShortNames, Categories   []string
		}
	}
	if _, err := get(at, &found); err != nil {
		return err
	}
	group, name := "", path.Base(at)
	if rest, ok := strings.CutPrefix(path.Dir(at), "/apis/"); ok {
		group = rest
	}
	v := s.served(group, name)
	for _, r := range found.Resources {
		s.knows |= facetNames
		if to := v.resource(r.Name); to != nil {
			to.Singular, to.ShortNames, to.Categories, to.Verbs, to.ListKind = r.SingularName, r.ShortNames, r.Categories, r.Verbs, r.Kind+"List"
		}
	}
	return nil
}
