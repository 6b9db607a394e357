package rbac

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestMissingRights(t *testing.T) {
	r := func(verbs, groups, resources, names, paths string) rule {
		split := func(s string) []string {
			if s == "" {
				return nil
			}
			return strings.Split(strings.ReplaceAll(s, "core", ""), ",")
		}
		return newRule(split(verbs), split(groups), split(resources), split(names), split(paths))
	}
	for _, c := range []struct {
		has, wanted []rule
		missing     string
	}{
		{nil, []rule{r("get,list", "core", "pods", "", "")}, `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`},
		{[]rule{r("get", "core", "pods", "", "")}, []rule{r("get,list", "core", "pods,secrets", "", "")},
			"{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}"},
		{[]rule{r("*", "*", "*", "", "")}, []rule{r("*,get", "*,apps", "*,*/log,pods/log", "a,b", "")}, ""},
		{[]rule{r("get", "*", "*", "", "")}, []rule{r("*", "core", "pods", "", "")}, `{APIGroups:[""], Resources:["pods"], Verbs:["*"]}`},
		{[]rule{r("get", "core", "*/log", "", "")}, []rule{r("get", "core", "pods/log,pods", "", "")}, `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`},
		{[]rule{r("get", "core", "pods", "a,b", "")}, []rule{r("get", "core", "pods", "b,c", "")}, `{APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get"]}`},
		{[]rule{r("get", "core", "pods", "a", "")}, []rule{r("get", "core", "pods", "", "")}, `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`},
		{[]rule{r("get", "", "", "", "/healthz/*")}, []rule{r("get,post", "", "", "", "/healthz/a,/healthz")},
			"{NonResourceURLs:[\"/healthz\"], Verbs:[\"get\"]}\n{NonResourceURLs:[\"/healthz\"], Verbs:[\"post\"]}\n{NonResourceURLs:[\"/healthz/a\"], Verbs:[\"post\"]}"},
		{[]rule{r("*", "", "", "", "*")}, []rule{r("*", "", "", "", "/a/*,*")}, ""},
		{[]rule{r("get", "core", "pods", "", ""), r("get", "apps", "deployments", "", "")}, []rule{r("get", "apps,core", "pods", "", "")}, `{APIGroups:["apps"], Resources:["pods"], Verbs:["get"]}`},
	} {
		missing, err := missingRights(c.has, c.wanted)
		if got := describeRights(missing); err != nil || got != c.missing {
			t.Errorf("%v of %v: %v\n%s\nwant\n%s", c.wanted, c.has, err, got, c.missing)
		}
	}
}

// A rule that stands for a billion rights is refused in bounded time.
func TestManyRights(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint("x", i)
	}
	wanted := []rule{newRule(many, many, many, nil, nil)}
	start := time.Now()
	if missing, err := missingRights(nil, wanted); err != nil || len(missing) != maxMissingRights {
		t.Errorf("%d, %v", len(missing), err)
	}
	if missing, err := missingRights([]rule{newRule(many, many, []string{"*"}, nil, nil)}, wanted); err == nil || !strings.Contains(err.Error(), "too many combinations") {
		t.Errorf("%d, %v", len(missing), err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Error(took)
	}
}
