package custom_test

import (
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// heldStore holds updates of definitions back.
type heldStore struct {
	store.Store
	may chan struct{}
}

func (s heldStore) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	if strings.Contains(key, "customresourcedefinitions") {
		<-s.may
	}
	return s.Store.Update(ctx, key, fn)
}

// A resource is served, and in discovery, once its definition is complete: the server does
// not write it any more, so an update of it has no conflict.
func TestListedDefinitionsAreEstablished(t *testing.T) {
	held := heldStore{may: make(chan struct{}, 1)}
	h := harness.Start(t, func(c *server.Config) {
		c.Seams.WrapStore = func(s store.Store) store.Store { held.Store = s; return held }
	})
	defer close(held.may)
	const group, path = "/apis/shop.example.com", "/apis/shop.example.com/v1/namespaces/default/shoes"
	held.may <- struct{}{}
	h.Create(harness.DefinitionsPath, harness.Custom("shop.example.com", "shoes", `"kind":"Shoe"`))
	for _, p := range []string{path, group, group + "/v1", "/openapi/v3" + group + "/v1"} {
		h.Get(p).Expect(t, 404, "")
	}
	held.may <- struct{}{}
	h.AwaitCode(group+"/v1", 200)
	h.Get(path).Expect(t, 200, "")
	if got := h.Get(harness.DefinitionsPath + "/shoes.shop.example.com"); !strings.Contains(string(got.Body), `"type":"Established"`) {
		t.Errorf("%s", got.Body)
	}
}
