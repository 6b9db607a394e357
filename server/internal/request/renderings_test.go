package request

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// TestRenderings: an entry gets the rendering of its own revision and row, if any.
func TestRenderings(t *testing.T) {
	c := NewRenderings(1 << 20)
	pods, others := &api.Resource{}, &api.Resource{}
	at := func(revision uint64) *store.Entry { return &store.Entry{Key: "core/pods/n/a", Revision: revision} }
	for _, step := range []struct {
		keep uint64
		of   *api.Resource
		form renderingForm
	}{{5, pods, binaryForm}, {4, pods, binaryForm}, {6, pods, cellsForm}, {5, others, binaryForm}, {0, pods, binaryForm}, {7, others, cellsForm}, {8, others, cellsForm}} {
		c.keep(step.of, step.form, at(step.keep), []byte("the "), fmt.Append(nil, step.keep))
	}
	for _, want := range []struct {
		revision uint64
		of       *api.Resource
		form     renderingForm
		text     string
	}{
		{5, pods, binaryForm, "the 5"}, {4, pods, binaryForm, ""}, {0, pods, binaryForm, ""}, {6, pods, binaryForm, ""}, {6, pods, cellsForm, "the 6"},
		{5, others, binaryForm, "the 5"}, {7, others, cellsForm, ""}, {8, others, cellsForm, "the 8"},
	} {
		if got := string(c.get(want.of, want.form, at(want.revision))); got != want.text {
			t.Errorf("%+v: got %q", want, got)
		}
	}
}

// TestRenderingsBound: the memory is bounded, its account is right, and a scan that is
// longer than the room still finds a part of it.
func TestRenderingsBound(t *testing.T) {
	const bound = 1 << 20
	c, of, text := NewRenderings(bound), &api.Resource{}, []byte(strings.Repeat("x", 1000))
	found := 0
	for round := range uint64(30) {
		for i := range 3000 {
			e := &store.Entry{Key: fmt.Sprint("core/pods/n/", i), Revision: 1 + round/29}
			if c.get(of, binaryForm, e) != nil {
				found++
			} else {
				c.keep(of, binaryForm, e, text)
			}
		}
	}
	c.keep(of, binaryForm, &store.Entry{Key: "large", Revision: 1}, make([]byte, bound/renderingShards/2))
	total := int64(0)
	for i := range c.shards {
		sum := int64(0)
		for _, r := range c.shards[i].kept {
			sum += int64(cap(r.bytes)) + renderingOverhead
		}
		if sum != c.shards[i].size || sum > c.shards[i].limit {
			t.Errorf("shard %d holds %d bytes, its account says %d of %d", i, sum, c.shards[i].size, c.shards[i].limit)
		}
		total += sum
	}
	if total < bound/2 || found < 3000 {
		t.Errorf("%d of %d bytes are in use, %d of 87000 reads found something", total, bound, found)
	}
	if c.get(of, binaryForm, &store.Entry{Key: "large", Revision: 1}) != nil {
		t.Error("a rendering took half a shard")
	}
}
