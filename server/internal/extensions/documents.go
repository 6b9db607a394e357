package extensions

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The largest documents that are read from an extension server, in bytes.
const (
	maxResources = 4 << 20
	maxOpenAPI   = 32 << 20
)

// read reads the documents by which a server describes its group version, over verified
// connections, and reports whether it could. Documents that cannot be used leave those
// from before.
func (x *Extensions) read(ctx context.Context, s *server) bool {
	before := s.way.documents.Load()
	now, err := x.readAll(ctx, s, before)
	if err != nil {
		if s.way.mistake(err.Error()) && ctx.Err() == nil {
			x.cfg.Log.Warn("the documents of an extension server cannot be used", "apiservice", s.Version+"."+s.Group, "error", err)
		}
		x.setStale(s.way, true)
		return false
	}
	s.way.mistake("")
	if before == nil || !now.same(before) {
		s.way.documents.Store(now)
		s.way.stale.Store(true) // so that it is published
	}
	x.setStale(s.way, false)
	return true
}

// setStale notes whether the server gives its documents.
func (x *Extensions) setStale(w *way, stale bool) {
	if w.stale.Swap(stale) != stale {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.publish()
	}
}

// documents are those of the catalog, with the entity tag and a hash of the whole OpenAPI
// v2 document.
type documents struct {
	catalog.RemoteDocuments
	tag   string
	whole [sha512.Size]byte
}

func (d *documents) same(other *documents) bool {
	return bytes.Equal(d.Resources, other.Resources) && bytes.Equal(d.OpenAPI2, other.OpenAPI2) && d.OpenAPI3 == other.OpenAPI3
}

// notes remembers the last mistake in the documents of a server, which is logged once.
type notes struct {
	mu   ranks.Mutex[ranks.Derived]
	last string
}

// mistake reports whether a mistake is another one than the last.
func (n *notes) mistake(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	other := n.last != text
	n.last = text
	return other
}

// reader reads the documents of a server.
type reader struct {
	x       *Extensions
	of      *server
	address string
}

func (x *Extensions) readAll(ctx context.Context, s *server, before *documents) (*documents, error) {
	address, err := x.cfg.Backends.Resolve(ctx, s.at.namespace, s.at.name, s.at.port)
	if err != nil {
		return nil, err
	}
	r := &reader{x, s, address}
	now := &documents{}
	if now.Resources, now.Names, err = r.resources(ctx); err != nil {
		return nil, err
	}
	// The others are optional: not all servers have them.
	now.OpenAPI3 = r.third(ctx)
	r.second(ctx, before, now)
	return now, nil
}

// get requests a document of at most so many bytes. A nil text without an error means
// that it is as before: it still has the entity tag.
func (r *reader) get(ctx context.Context, path, tag string, most int64) (text []byte, newTag string, err error) {
	by := r.of.way.requests.Begin(r.x.cfg.Certificate())
	defer by.End()
	resp, err := r.x.get(ctx, by, "https://"+r.address+path, tag)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && tag != "":
		return nil, tag, nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("%s: status %d", path, resp.StatusCode)
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", path, most)
	}
	return text, resp.Header.Get("Etag"), err
}

// resources reads the list of the resources of the group version, and their names.
func (r *reader) resources(ctx context.Context) ([]byte, map[string]bool, error) {
	text, _, err := r.get(ctx, "/apis/"+r.of.APIVersion(), "", maxResources)
	if err != nil {
		return nil, nil, err
	}
	var list api.ResourceList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, nil, fmt.Errorf("the list of resources is not JSON: %w", err)
	}
	if list.GroupVersion != r.of.APIVersion() {
		return nil, nil, fmt.Errorf("the list of resources is of %q, not of %q", list.GroupVersion, r.of.APIVersion())
	}
	if len(list.Resources) > maxNames {
		return nil, nil, errors.New("the list of resources is too long")
	}
	names := map[string]bool{}
	for _, one := range list.Resources {
		names[one.Name] = true
	}
	return text, names, nil
}

// maxNames bounds the resources of a group version, which become labels of metrics.
const maxNames = 1000

// third reads the hash of the OpenAPI v3 document of the group version, "" for none.
func (r *reader) third(ctx context.Context) string {
	text, _, err := r.get(ctx, "/openapi/v3", "", maxResources)
	if err != nil {
		return ""
	}
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if json.Unmarshal(text, &index) != nil {
		return ""
	}
	at, ok := index.Paths["apis/"+r.of.APIVersion()]
	if !ok {
		return ""
	}
	if u, err := url.Parse(at.URL); err == nil && u.Query().Get("hash") != "" {
		return u.Query().Get("hash")
	}
	sum := sha512.Sum512([]byte(at.URL))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// second reads the part of the OpenAPI v2 document about the group version: its paths,
// and the definitions that they use. A document that cannot be read, or has not changed,
// leaves the part from before.
func (r *reader) second(ctx context.Context, before, now *documents) {
	if before == nil {
		before = &documents{}
	}
	now.OpenAPI2, now.tag, now.whole = before.OpenAPI2, before.tag, before.whole
	text, tag, err := r.get(ctx, "/openapi/v2", before.tag, maxOpenAPI)
	if err != nil || text == nil {
		return
	}
	if now.tag, now.whole = tag, sha512.Sum512(text); now.whole != before.whole {
		now.OpenAPI2 = partOf(text, "/apis/"+r.of.APIVersion()+"/")
	}
}

// partOf is the part of an OpenAPI v2 document about the paths with a prefix; nil when
// there is none.
func partOf(text []byte, prefix string) []byte {
	var doc struct {
		Paths       map[string]json.RawMessage `json:"paths"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return nil
	}
	used := map[string]json.RawMessage{}
	var use func(text []byte)
	use = func(text []byte) {
		for _, name := range references(text) {
			if definition, ok := doc.Definitions[name]; ok && used[name] == nil {
				used[name] = definition
				use(definition)
			}
		}
	}
	for path, item := range doc.Paths {
		if path+"/" != prefix && !strings.HasPrefix(path, prefix) {
			delete(doc.Paths, path)
			continue
		}
		use(item)
	}
	if len(doc.Paths) == 0 {
		return nil
	}
	part, err := json.Marshal(map[string]any{"paths": doc.Paths, "definitions": used})
	if err != nil {
		return nil
	}
	return part
}

// references are the names of the definitions that a part of a document refers to.
func references(text []byte) (names []string) {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
					names = append(names, name)
				}
			}
			for _, below := range v {
				visit(below)
			}
		case []any:
			for _, below := range v {
				visit(below)
			}
		}
	}
	visit(v)
	return names
}
