package live

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// total is a small index: the sum of all numbers. byNumber is the keys of each.
func total(sum int, changes []Change[*number]) int {
	for _, c := range changes {
		if c.Before != nil {
			sum -= int(*c.Before)
		}
		if c.After != nil {
			sum += int(*c.After)
		}
	}
	return sum
}

func byNumber(index map[number][]string, changes []Change[*number]) map[number][]string {
	index = maps.Clone(index)
	if index == nil {
		index = map[number][]string{}
	}
	for _, c := range changes {
		if c.Before != nil {
			index[*c.Before] = slices.DeleteFunc(slices.Clone(index[*c.Before]), func(k string) bool { return k == c.Key })
		}
		if c.After != nil {
			index[*c.After] = append(slices.Clone(index[*c.After]), c.Key)
		}
	}
	return index
}

// look is a view as a test recorded it.
type look struct {
	revision uint64
	text     string
	total    int
	groups   map[number][]string
}

func (l look) check(t testing.TB, model string, sum int, groups map[number][]string) {
	t.Helper()
	if l.text != model || l.total != sum {
		t.Errorf("at %d: %s, sum %d, want %s, sum %d", l.revision, l.text, l.total, model, sum)
	}
	for n, keys := range l.groups {
		if slices.Sort(keys); !slices.Equal(keys, groups[n]) {
			t.Errorf("at %d: %v have %d, want %v", l.revision, keys, n, groups[n])
		}
	}
}

// TestViewsAreStates lets many write while collections are opened and read, and compares
// each view with the changes of the store up to its revision.
func TestViewsAreStates(t *testing.T) {
	w := newWorld(t)
	prefixes := []string{"a/", "c/x"}
	var mu sync.Mutex
	var looks []look
	watch := func(c *Collection[*number], stop <-chan struct{}) {
		sum, groups := Derive(c, total), Derive(c, byNumber)
		var newest uint64
		var before View[*number]
		followed := map[string]*number{}
		for i := 0; ; i++ {
			v := c.View()
			if v.Revision() < newest {
				t.Errorf("%d came after %d", v.Revision(), newest)
			}
			newest = v.Revision()
			for change := range v.Since(before) {
				if followed[change.Key] != change.Before || change.Before == change.After {
					t.Errorf("%s changed to %v from %v, not %v", change.Key, change.After, change.Before, followed[change.Key])
				}
				if followed[change.Key] = change.After; change.After == nil {
					delete(followed, change.Key)
				}
			}
			if before = v; !maps.Equal(followed, maps.Collect(v.Under(""))) {
				t.Errorf("at %d the changes lead to %v, not to %s", newest, followed, text(v))
			}
			mu.Lock()
			looks = append(looks, look{newest, text(v), sum.Of(v), groups.Of(v)})
			mu.Unlock()
			select {
			case <-stop:
				return
			default:
			}
			if _, err := c.AtLeast(context.Background(), newest); err != nil {
				t.Error(err)
			}
		}
	}
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for range 4 {
				c := w.collect(prefixes...)
				readers.Go(func() { watch(c, stop) })
			}
		})
	}
	mine := w.collect(prefixes...)
	for range 4 {
		writers.Go(func() {
			for range 150 {
				key := []string{"a/", "b/", "c/x", "c/y"}[rand.IntN(4)] + strconv.Itoa(rand.IntN(8))
				revision := uint64(0)
				if rand.IntN(3) == 0 {
					revision = w.remove(key)
				} else {
					revision = w.put(key, rand.IntN(5)-1)
				}
				if v := mine.View(); v.Revision() < revision {
					t.Errorf("after the acknowledgement of %d the view is at %d", revision, v.Revision())
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	w.compare(looks, prefixes)
}

// compare replays the changes of the store and checks the looks on the way.
func (w *world) compare(looks []look, prefixes []string) {
	slices.SortStableFunc(looks, func(a, b look) int { return int(a.revision) - int(b.revision) })
	state, sum, at := map[string]int{}, 0, 0
	describe := func() (string, map[number][]string) {
		var b strings.Builder
		groups := map[number][]string{}
		for _, key := range slices.Sorted(maps.Keys(state)) {
			fmt.Fprintf(&b, "%s=%d ", key, state[key])
			groups[number(state[key])] = append(groups[number(state[key])], key)
		}
		return b.String(), groups
	}
	checkUntil := func(revision uint64) {
		model, groups := describe()
		for ; at < len(looks) && looks[at].revision < revision; at++ {
			looks[at].check(w, model, sum, groups)
		}
	}
	_, err := w.store.Changes(context.Background(), "", 0, func(c *store.Change) bool {
		checkUntil(c.Entry.Revision)
		key := c.Entry.Key
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			return true
		}
		sum -= state[key]
		delete(state, key)
		if n, _ := strconv.Atoi(string(c.Entry.Body)); c.Op != store.OpDelete && n >= 0 {
			state[key], sum = n, sum+n
		}
		return true
	})
	checkUntil(1 << 62)
	if err != nil || at != len(looks) {
		w.Errorf("%d of %d views were compared, %v", at, len(looks), err)
	}
}
