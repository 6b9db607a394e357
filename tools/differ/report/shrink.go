package report

import (
	"context"
	"sort"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Runner runs a scenario and returns the differences; the shrinker's tests use one
// without servers.
type Runner func(context.Context, *scenario.Scenario) ([]compare.Diff, error)

// Shrink drops steps, fields, parameters and headers while the difference stays, with at most budget runs.
func Shrink(ctx context.Context, run Runner, b *Bucket, budget int) {
	s := &shrinker{ctx: ctx, run: run, best: b.Example, diff: b.Diff, budget: budget}
	// A difference that does not repeat is not shrunk.
	again := b.Example.Clone()
	if !s.try(again) {
		b.Flaky = ctx.Err() == nil
		return
	}
	b.Stable = true
	s.steps()
	for changed := true; changed && s.budget > 0; {
		changed = s.bodies()
		changed = s.params() || changed
	}
	s.steps()
	b.Example, b.Diff = s.best, s.diff
}

type shrinker struct {
	ctx    context.Context
	run    Runner
	best   *scenario.Scenario
	diff   compare.Diff
	budget int
}

// same reports whether a difference in a smaller scenario is still the original one.
func same(a, z compare.Diff) bool {
	if a.Signature == z.Signature {
		return true
	}
	if a.Class != "status" || z.Class != "status" || a.Request != z.Request || codes(a.Signature) != codes(z.Signature) {
		return false
	}
	// A refusal for fewer of the same reasons.
	if len(z.Causes) == 0 || len(z.Causes) > len(a.Causes) {
		return false
	}
	for _, c := range z.Causes {
		found := false
		for _, d := range a.Causes {
			found = found || c == d
		}
		if !found {
			return false
		}
	}
	return true
}

// codes is the part of a status signature that holds the two codes.
func codes(sig string) string {
	i := strings.Index(sig, "| status ")
	if i < 0 {
		return sig
	}
	f := strings.FieldsFunc(sig[i+9:], func(r rune) bool { return r == ' ' || r == ',' || r == ':' })
	if len(f) < 3 {
		return sig
	}
	return f[0] + " " + f[2]
}

func (s *shrinker) try(sc *scenario.Scenario) bool {
	if s.budget <= 0 || s.ctx.Err() != nil {
		return false
	}
	s.budget--
	diffs, err := s.run(s.ctx, sc)
	if err != nil {
		return false
	}
	for _, d := range diffs {
		if same(s.diff, d) {
			sc.Steps = sc.Steps[:d.Step+1]
			s.best, s.diff = sc, d
			return true
		}
	}
	return false
}

// steps drops the steps before the last one, first all, then one at a time from the end.
func (s *shrinker) steps() {
	if len(s.best.Steps) > 1 {
		c := s.best.Clone()
		c.Steps = c.Steps[len(c.Steps)-1:]
		if s.try(c) {
			return
		}
	}
	for i := len(s.best.Steps) - 2; i >= 0; i-- {
		if i >= len(s.best.Steps)-1 {
			continue
		}
		c := s.best.Clone()
		c.Steps = append(c.Steps[:i:i], c.Steps[i+1:]...)
		s.try(c)
	}
}

// bodies drops fields and list items, the large ones first.
func (s *shrinker) bodies() bool {
	changed := false
	for i := len(s.best.Steps) - 1; i >= 0; i-- {
		if i >= len(s.best.Steps) {
			continue
		}
		for _, p := range paths(s.best.Steps[i].Body, nil) {
			c := s.best.Clone()
			body, ok := remove(c.Steps[i].Body, p)
			if !ok {
				continue
			}
			c.Steps[i].Body = body
			if s.try(c) {
				changed = true
			}
			if s.budget <= 0 || i >= len(s.best.Steps) {
				return changed
			}
		}
	}
	return changed
}

// kept are the fields without which a request is another one. A dry run must remain one
// in a smaller example.
var kept = map[string]bool{"apiVersion": true, "kind": true, "dryRun": true}

// paths lists all places in a value, the shallow ones first.
func paths(v any, at []any) [][]any {
	var out [][]any
	add := func(k any, x any) {
		p := append(append([]any(nil), at...), k)
		name, _ := k.(string)
		if name == "dryRun" {
			return
		}
		if !kept[name] || len(at) > 0 {
			out = append(out, p)
		}
		out = append(out, paths(x, p)...)
	}
	switch c := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(c))
		for k := range c {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			add(k, c[k])
		}
	case []any:
		for i := len(c) - 1; i >= 0; i-- {
			add(i, c[i])
		}
	}
	if len(at) == 0 {
		sort.SliceStable(out, func(i, j int) bool { return len(out[i]) < len(out[j]) })
	}
	return out
}

func remove(v any, p []any) (any, bool) {
	if len(p) == 0 {
		return v, false
	}
	switch c := v.(type) {
	case map[string]any:
		k, ok := p[0].(string)
		if !ok {
			return v, false
		}
		x, ok := c[k]
		if !ok {
			return v, false
		}
		if len(p) == 1 {
			delete(c, k)
			return c, true
		}
		n, ok := remove(x, p[1:])
		c[k] = n
		return c, ok
	case []any:
		i, ok := p[0].(int)
		if !ok || i >= len(c) {
			return v, false
		}
		if len(p) == 1 {
			return append(c[:i:i], c[i+1:]...), true
		}
		n, ok := remove(c[i], p[1:])
		c[i] = n
		return c, ok
	}
	return v, false
}

// params drops query parameters and headers.
func (s *shrinker) params() bool {
	changed := false
	for i := len(s.best.Steps) - 1; i >= 0; i-- {
		if i >= len(s.best.Steps) {
			continue
		}
		path, q, found := strings.Cut(s.best.Steps[i].Path, "?")
		if found {
			l := strings.Split(q, "&")
			for j := len(l) - 1; j >= 0; j-- {
				if strings.HasPrefix(l[j], "watch=") || strings.HasPrefix(l[j], "timeoutSeconds=") || strings.HasPrefix(l[j], "dryRun=") ||
					strings.Contains(l[j], "${NS}") {
					continue
				}
				rest := append(append([]string(nil), l[:j]...), l[j+1:]...)
				c := s.best.Clone()
				c.Steps[i].Path = path
				if len(rest) > 0 {
					c.Steps[i].Path += "?" + strings.Join(rest, "&")
				}
				if s.try(c) {
					l, changed = rest, true
				}
			}
		}
		for _, h := range []string{"Accept", "Content-Type"} {
			if i < len(s.best.Steps) && s.best.Steps[i].Headers[h] != "" && s.best.Steps[i].Method != "PATCH" {
				c := s.best.Clone()
				delete(c.Steps[i].Headers, h)
				changed = s.try(c) || changed
			}
		}
	}
	return changed
}
