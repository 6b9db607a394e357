package extensions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/controller"
)

// Keeps reports whether an extension server has a group version.
func (x *Extensions) Keeps(apiVersion string) bool { return x.byVersion(apiVersion) != nil }

func (x *Extensions) byVersion(apiVersion string) *server {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.current[apiVersion]
}

// Find reads an object of an extension server, as JSON without white space; nil when the
// server says that there is none. Only an object with a uid is one, and only an answer
// about its name says that it is missing: others delete. Errors:
// controller.ErrUnknownKind, and the reasons why the server gave no answer.
func (x *Extensions) Find(ctx context.Context, apiVersion, kind, namespace, name string) ([]byte, error) {
	s := x.byVersion(apiVersion)
	if s == nil {
		return nil, controller.ErrUnknownKind
	}
	if s.available.status != "True" || s.way.documents.Load() == nil {
		return nil, fmt.Errorf("the server of %s is not available", apiVersion)
	}
	path, ok := s.pathOf(kind, namespace, name)
	if !ok {
		return nil, controller.ErrUnknownKind
	}
	text, err := x.ask(ctx, s, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	var found struct {
		Kind     string
		Reason   string
		Details  struct{ Name string }
		Metadata struct{ UID string }
	}
	var body bytes.Buffer
	switch err := json.Compact(&body, text); {
	case err != nil || json.Unmarshal(text, &found) != nil:
		return nil, fmt.Errorf("GET %s: the answer is not an object", path)
	case found.Kind == "Status" && found.Reason == "NotFound" && found.Details.Name == name:
		return nil, nil
	case found.Kind != kind || found.Metadata.UID == "":
		return nil, fmt.Errorf("GET %s: the answer is another object", path)
	}
	return body.Bytes(), nil
}

// pathOf is the path of an object of a kind.
func (s *server) pathOf(kind, namespace, name string) (path string, ok bool) {
	var list api.ResourceList
	if json.Unmarshal(s.way.documents.Load().Resources, &list) != nil {
		return "", false
	}
	for _, r := range list.Resources {
		if r.Kind != kind || strings.Contains(r.Name, "/") {
			continue
		}
		path = "/apis/" + s.APIVersion() + "/"
		if r.Namespaced {
			path += "namespaces/" + url.PathEscape(namespace) + "/"
		}
		return path + url.PathEscape(r.Name) + "/" + url.PathEscape(name), namespace != "" || !r.Namespaced
	}
	return "", false
}
