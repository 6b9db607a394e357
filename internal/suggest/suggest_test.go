package suggest

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b     string
		limit, d int
	}{
		{"", "", 3, 0}, {"abc", "abc", 3, 0}, {"abc", "abd", 3, 1}, {"abc", "ab", 3, 1}, {"ab", "abc", 3, 1},
		{"kitten", "sitting", 9, 3}, {"kitten", "sitting", 2, 2}, {"", "abcdef", 3, 3}, {"flaw", "lawn", 9, 2}, {"stroe", "store", 9, 1}, {"ab", "ba", 9, 1},
	} {
		if d := editDistance(c.a, c.b, c.limit); d != c.d {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, d, c.d)
		}
	}
}

// TestCommand: a misspelt command is refused with the nearest one, and none without arguments.
func TestCommand(t *testing.T) {
	root := &cobra.Command{Use: "capstan"}
	for _, name := range []string{"serve", "store", "status"} {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	root.AddCommand(&cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	for args, want := range map[string]string{
		"stroe": `unknown command "stroe" for "capstan"; did you mean store?`,
		"hiden": `unknown command "hiden" for "capstan"`,
		"xyzzy": `unknown command "xyzzy" for "capstan"`,
	} {
		if err := Command(root, []string{args}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", args, err)
		}
	}
	if err := Command(root, nil); err != nil {
		t.Error(err)
	}
}
