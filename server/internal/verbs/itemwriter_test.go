package verbs

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/request"
)

// sink takes so many bytes, and notes the longest write.
type sink struct {
	bytes.Buffer
	takes, longest int
}

var errStuck = errors.New("stuck")

func (s *sink) Write(p []byte) (int, error) {
	s.longest = max(s.longest, len(p))
	if s.Len()+len(p) > s.takes {
		return 0, errStuck
	}
	return s.Buffer.Write(p)
}

// A large item goes out in parts, and no more of it is copied than is taken.
func TestLargeItems(t *testing.T) {
	const most = 2 * request.ListBuffer
	items := []string{"1", strings.Repeat("2", request.FirstWrite), strings.Repeat("3", 1<<20), "4", strings.Repeat("5", 3*request.ListBuffer+1), "6"}
	want := "["
	for i, item := range items {
		want += strings.Repeat(",", min(i, 1)) + "{" + item
	}
	out := &sink{takes: 1 << 30}
	w := newItemWriter(out, []byte("["))
	for _, item := range items {
		if err := w.text("{", []byte(item)); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String() + string(w.end("[]")); got != want+"]}\n" {
		t.Errorf("%d bytes instead of %d", len(got), len(want)+3)
	}
	if out.longest > most || cap(w.buf) > 2*most {
		t.Errorf("the longest part has %d bytes, the buffer %d", out.longest, cap(w.buf))
	}
	stuck := &sink{takes: request.ListBuffer}
	w = newItemWriter(stuck, nil)
	if err := w.text("{", []byte(items[2])); !errors.Is(err, errStuck) || cap(w.buf) > 2*most {
		t.Errorf("a connection that takes nothing more: error %v, a buffer of %d bytes", err, cap(w.buf))
	}
	converted := &sink{takes: 1 << 30}
	w = newItemWriter(converted, nil)
	if err := w.add(func(dst []byte) ([]byte, error) { return append(dst, items[2]...), nil }); err != nil || converted.longest > most {
		t.Errorf("a large item that is made: error %v, a part of %d bytes", err, converted.longest)
	}
}
