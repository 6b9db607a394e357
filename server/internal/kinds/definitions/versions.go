package definitions

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// versionName matches the versions that have an order: v1, v2beta3.
var versionName = regexp.MustCompile(`^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$`)

// versionPriority orders the versions of a group: stable ones before betas and these
// before alphas, each the higher one first. Other names come last, by name.
func versionPriority(name string) int {
	parts := versionName.FindStringSubmatch(name)
	if parts == nil {
		return 0
	}
	const most = 1<<20 - 1
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil || n > most {
			return most
		}
		return n
	}
	level := map[string]int{"": 3, "beta": 2, "alpha": 1}[parts[2]]
	return level<<40 | number(parts[1])<<20 | number("0"+parts[3])
}

// compareVersions puts the version that clients should prefer first.
func compareVersions(a, b string) int {
	return cmp.Or(cmp.Compare(versionPriority(b), versionPriority(a)), strings.Compare(a, b))
}
