package health

import (
	"fmt"
	"sort"
	"strings"
)

// Check is one line of a health endpoint.
type Check struct {
	Name  string
	Check func() error // nil error: ok
}

// Report runs the checks that are not excluded by name: a line for each, and the
// names of those that failed.
func Report(checks []Check, excluded []string) (text string, failed []string) {
	exclude := map[string]bool{}
	for _, name := range excluded {
		exclude[name] = true
	}
	var lines strings.Builder
	for _, c := range checks {
		switch {
		case exclude[c.Name]:
			delete(exclude, c.Name)
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.Name)
		case c.Check() != nil:
			failed = append(failed, c.Name)
			fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", c.Name)
		default:
			fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
		}
	}
	if len(exclude) > 0 {
		var unknown []string
		for name := range exclude {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
		sort.Strings(unknown)
		fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(unknown, ","))
	}
	return lines.String(), failed
}
