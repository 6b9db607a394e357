package extensions

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/capstan-dev/capstan/internal/controller"
)

// countedPage is the number of objects that are asked for at once.
const countedPage = 500

// Count counts the objects of a resource in a namespace, in the preferred version of the
// group. Errors: controller.ErrUnknownKind, and the reasons why the server gave no answer.
func (x *Extensions) Count(ctx context.Context, namespace, group, plural string) (n int, err error) {
	if x == nil {
		return 0, controller.ErrUnknownKind
	}
	for _, s := range x.byPriority() {
		switch {
		case s.Group != group:
			continue
		case s.available.status != "True" || s.way.documents.Load() == nil:
			return 0, fmt.Errorf("the server of %s is not available", s.APIVersion())
		}
		for _, r := range s.namespaced() {
			if r.Name == plural {
				return x.countIn(ctx, s, "/apis/"+s.APIVersion()+"/namespaces/"+url.PathEscape(namespace)+"/"+url.PathEscape(plural))
			}
		}
	}
	return 0, controller.ErrUnknownKind
}

// countIn counts the objects at a path, page by page.
func (x *Extensions) countIn(ctx context.Context, s *server, path string) (n int, err error) {
	for next := ""; ; {
		query := url.Values{"limit": {fmt.Sprint(countedPage)}}
		if next != "" {
			query.Set("continue", next)
		}
		text, err := x.ask(ctx, s, http.MethodGet, path+"?"+query.Encode())
		if err != nil {
			return 0, err
		}
		var page struct {
			Kind     string
			Metadata struct{ Continue string }
			Items    []struct{}
		}
		switch err := json.Unmarshal(text, &page); {
		case err != nil:
			return 0, fmt.Errorf("the list is not JSON: %w", err)
		case page.Kind == "Status" || page.Metadata.Continue == next && next != "":
			return 0, fmt.Errorf("GET %s: the answer is not a list", path)
		}
		n += len(page.Items)
		if next = page.Metadata.Continue; next == "" {
			return n, nil
		}
	}
}
