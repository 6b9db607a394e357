package selector

import (
	"errors"
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
)

// parsed is Parse and For in one.
func parsed(labelText, fieldText string, r *api.Resource) (*Selector, error) {
	q, err := Parse(labelText, fieldText)
	if err != nil {
		return nil, err
	}
	return q.For(r)
}

// checkHeader returns nil when a header is whole and its labels are sorted. The
// empty header is that of an object without labels and fields.
func checkHeader(meta []byte) error {
	if len(meta) == 0 {
		return nil
	}
	r := reader{rest: meta}
	if v := r.number(); v != metaVersion {
		return fmt.Errorf("version %d, want %d", v, metaVersion)
	}
	var last []byte
	labels := reader{rest: r.block()}
	for first := true; len(labels.rest) > 0; first = false {
		key := labels.text()
		if !first && string(last) >= string(key) {
			return fmt.Errorf("label %q is not after %q", key, last)
		}
		last = key
		labels.text()
	}
	for i, n := uint64(0), r.number(); i < n && !r.bad; i++ {
		r.text()
	}
	if r.bad || labels.bad || len(r.rest) > 0 {
		return errors.New("a length points outside of the header")
	}
	return nil
}

func TestCheckHeader(t *testing.T) {
	good := header(t, `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"nodeName":"x"}}`, pods())
	for n := 1; n < len(good); n++ {
		if checkHeader(good[:n]) == nil {
			t.Errorf("a header cut after %d bytes is accepted", n)
		}
	}
	for what, bad := range map[string][]byte{
		"tail":     append(good[:len(good):len(good)], 0),
		"version":  {2, 0, 0, 0, 0, 0},
		"order":    {1, 6, 0, 0, 0, 1, 'b', 0, 1, 'a', 0, 0},
		"twice":    {1, 6, 0, 0, 0, 1, 'a', 0, 1, 'a', 0, 0},
		"length":   {1, 3, 0, 0, 0, 20, 'a', 0, 0},
		"half":     {1, 2, 0, 0, 0, 1, 'a', 0},
		"block":    {1, 1, 0, 0, 1, 0, 0},
		"overlong": {1, 0x80},
	} {
		if checkHeader(bad) == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for name, object := range map[string]string{"bare": `{}`, "full": `{"metadata":{"labels":{"a":"1","b":""}},"spec":{"nodeName":"x"}}`} {
		whole := header(t, object, pods())
		marked := Incomplete(append([]byte(nil), whole...))
		if IsIncomplete(whole) || !IsIncomplete(marked) {
			t.Errorf("%s: the whole header is marked: %v, the marked one %v", name, IsIncomplete(whole), IsIncomplete(marked))
		}
		for _, q := range [][2]string{{"a=1", ""}, {"", "spec.nodeName=x"}, {"!c", "spec.nodeName!=x"}} {
			s, err := parsed(q[0], q[1], pods())
			if err != nil {
				t.Fatal(err)
			}
			if s.Matches("pods/default/p", whole) != s.Matches("pods/default/p", marked) {
				t.Errorf("%s: %v decides by the mark", name, q)
			}
		}
		for n := range whole {
			IsIncomplete(whole[:n]) // of a damaged header: any answer
		}
	}
	if IsIncomplete(nil) {
		t.Error("no header is marked")
	}
}
