package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// Served is a group version of a running server: its OpenAPI 3 document, and its discovery.
type Served struct {
	*File
	Group, Version string
	Resources      []Discovered
}

// Discovered is a resource as discovery names it.
type Discovered struct {
	Name, SingularName, Kind string
	Namespaced               bool
	Verbs                    []string
	ShortNames, Categories   []string
}

// Rename puts the names into a resource.
func (d Discovered) Rename(r *model.Resource) {
	r.Singular, r.ShortNames, r.Categories, r.Verbs, r.ListKind = d.SingularName, d.ShortNames, d.Categories, d.Verbs, d.Kind+"List"
}

// Fetch reads the documents of a running server at a URL, with the credentials in a
// kubeconfig, if one is named.
func Fetch(ctx context.Context, url, kubeconfig, kubecontext string) ([]Served, error) {
	config := client.Config{Host: url}
	if kubeconfig != "" {
		read, _, err := client.LoadKubeconfig(kubeconfig, kubecontext)
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
	var names []string
	for name := range index.Paths {
		names = append(names, name)
	}
	slices.Sort(names)
	var all []Served
	for _, name := range names {
		parts := strings.Split(name, "/")
		if version := parts[len(parts)-1]; !resourceVersion(parts) || version == "" {
			continue
		}
		body, err := get(index.Paths[name].ServerRelativeURL, nil)
		if err != nil {
			return nil, err
		}
		f, err := Parse(url+"/openapi/v3/"+name, body)
		if err != nil {
			return nil, err
		}
		one := Served{File: f, Version: path.Base(name)}
		one.Group, _ = strings.CutPrefix(path.Dir("/"+name), "/apis/")
		one.Group = strings.TrimPrefix(one.Group, "/api")
		if _, err := get("/"+name, &struct{ Resources *[]Discovered }{&one.Resources}); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// fetch gets a document of a server.
func fetch(ctx context.Context, rest *client.REST, url, path string, into any) ([]byte, error) {
	body, err := rest.Get(ctx, path, MostBytes)
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
