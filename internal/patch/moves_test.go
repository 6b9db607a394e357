package patch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// A value that moves is linked to another place and not copied. A list or an object that something
// moves out of is taken apart, once.
func TestCostOfMoves(t *testing.T) {
	const size = 1 << 20
	full := func(begin, format, end string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return strings.TrimSuffix(b.String(), ",") + end
	}
	text, objects := full(`"`, "x%d", `"`), full("[", `{"name":"n%d"},`, "]")
	for _, c := range []struct {
		name, value, move, back string
		most                    float64 // bytes for each of the object
	}{
		{"text", text, "/a /b", "/b /a", 2},
		{"list", objects, "/a /b", "/b /a", 2},
		{"map", full("{", `"k%d":1,`, "}"), "/a /b", "/b /a", 2},
		{"between levels", `{"b":` + objects + `}`, "/a/b /c", "/c /a/b", 2},
		{"elements", objects, "/a/3 /a/0", "/a/0 /a/3", 5},
		{"short elements", "[" + strings.Repeat("1,", size/2) + "1]", "/a/3 /a/0", "/a/0 /a/3", 24},
		{"members", full("{", `"k%d":1,`, "}"), "/a/k1 /a/b", "/a/b /a/k1", 20},
	} {
		current := []byte(`{"a":` + c.value + `}`)
		var moves []string
		for i := range 9 {
			from, path, _ := strings.Cut([]string{c.move, c.back}[i%2], " ")
			moves = append(moves, fmt.Sprintf(`{"op":"move","from":%q,"path":%q}`, from, path))
		}
		patch := []byte("[" + strings.Join(moves, ",") + "]")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := JSON(current, patch, document.Limits{}, nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if each := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(current)); each > c.most {
			t.Errorf("%s: nine moves allocate %.1f bytes for each of %d, at most %.0f", c.name, each, len(current), c.most)
		} else if testing.Verbose() {
			t.Logf("%s: %.1f", c.name, each)
		}
	}
}
