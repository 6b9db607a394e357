package compare

import (
	"bytes"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Diff is one difference between the two answers to a step.
type Diff struct {
	Step      int      `json:"step"`
	Signature string   `json:"signature"` // groups equal differences by request and path
	Class     string   `json:"class"`     // status, causes, reason, body, managedFields, header, warning, table, events, binary
	Request   string   `json:"request"`   // like "POST deployments.apps"
	Want      string   `json:"want"`
	Got       string   `json:"got"`
	Causes    []string `json:"causes,omitempty"` // of the refusal, when one side refused
}

// Session compares the answers of one scenario, step by step.
type Session struct {
	Skipped   int // steps that were not compared since the sides held their object in different states
	Partly    int // lists and watches that were compared without such objects
	want, got *normalizer
	ns        string
	lost      lost                       // objects about which nothing more is reported
	said      map[string]map[string]bool // differences already reported, by object
	diverges  func(*scenario.Step, []Diff) bool
	refused   func(*scenario.Step) bool // Options.RefusedDiverges
}

// NewSession begins a scenario.
func NewSession(ns string, o Options) *Session {
	s := &Session{want: newNormalizer(ns, o), got: newNormalizer(ns, o), ns: ns, lost: lost{}, said: map[string]map[string]bool{},
		diverges: o.Diverges, refused: o.RefusedDiverges}
	if !o.Recorded.IsZero() {
		s.want.now = func() time.Time { return o.Recorded }
	}
	return s
}

// Step compares the answers to one step and returns the differences not yet reported
// about the same object.
func (s *Session) Step(i int, st *scenario.Step, want, got *Answer) []Diff {
	t := TargetOf(st)
	d := &stepDiff{session: s, target: t, req: t.Verb + " " + t.Resource, step: i}
	obj := t.Object
	if obj == "" && st.Method == "POST" {
		obj = t.Collection + "/" + s.want.text(createdName(st, want, got))
	}
	w, g := *want, *got // the copies are reduced, the answers stay
	want, got = &w, &g
	skip := s.skip(t, obj, st, want, got)
	if cached(t, st) {
		sortItems(want.JSON)
		sortItems(got.JSON)
	}
	d.compare(want, got)
	if s.partsWays(st, want, got, d.diffs) {
		s.lost.add(t, obj)
	}
	if skip {
		s.Skipped++
		return nil
	}
	var out []Diff
	for _, x := range d.diffs {
		key := ""
		if x.Class == "body" || x.Class == "managedFields" || x.Class == "table" || x.Class == "events" {
			key = lastPath(x.Signature)
		}
		if key != "" && s.wasSaid(t, obj, key) {
			continue
		}
		if key != "" {
			if s.said[obj] == nil {
				s.said[obj] = map[string]bool{}
			}
			s.said[obj][key] = true
		}
		out = append(out, x)
	}
	return out
}

// partsWays reports whether a write leaves its object in different states: one side
// accepted it, or by a decision both did, or refused it, with different results. A delete of
// a collection may have deleted some objects before it failed.
func (s *Session) partsWays(st *scenario.Step, want, got *Answer, diffs []Diff) bool {
	if st.Method == "GET" || st.Method == "HEAD" {
		return false
	}
	if TargetOf(st).Verb == "DELETECOLLECTION" && want.Status != got.Status {
		return true
	}
	if !success(want) && !success(got) {
		return s.refused != nil && s.refused(st)
	}
	return success(want) != success(got) || s.diverges != nil && s.diverges(st, diffs)
}

// Lost reports whether the target of a step is in different states, so that a value taken
// from its answer differs in meaning between the sides.
func (s *Session) Lost(st *scenario.Step) bool {
	t := TargetOf(st)
	return t.Object != "" && s.lost.has(t.Object)
}

// wasSaid reports whether a path was reported for the object before, or for any object of
// the resource when all of them are shown.
func (s *Session) wasSaid(t Target, obj, key string) bool {
	if s.said[obj][key] {
		return true
	}
	if obj != "" {
		return false
	}
	for o, keys := range s.said {
		if i := strings.LastIndexByte(o, '/'); i > 0 && keys[key] && resourceOf(o[:i]) == resourceOf(t.Collection) {
			return true
		}
	}
	return false
}

// cached reports whether a list may come from a cache, in any order.
func cached(t Target, st *scenario.Step) bool {
	u, err := url.Parse(st.Path)
	return err == nil && t.Verb == "LIST" && u.Query().Get("resourceVersion") != ""
}

// sortItems orders a list, or the rows of a table, by name.
func sortItems(v any) {
	name := func(x any) string {
		for _, p := range []string{"metadata.name", "object.metadata.name", "cells[0]"} {
			if n, ok := scenario.Get(x, p); ok {
				return fmt.Sprint(n)
			}
		}
		return ""
	}
	m, _ := v.(map[string]any)
	for _, k := range []string{"items", "rows"} {
		l, _ := m[k].([]any)
		sort.SliceStable(l, func(i, j int) bool { return name(l[i]) < name(l[j]) })
	}
}

// lastPath is the path in a signature, without the request and without the list around
// it.
func lastPath(sig string) string {
	p := strings.SplitN(sig, " | ", 2)
	if len(p) < 2 {
		return ""
	}
	f := strings.Fields(p[1])
	last := f[len(f)-1]
	for _, c := range []string{".items[]", ".object", ".rows[]"} {
		last = strings.ReplaceAll(last, c, "")
	}
	return last
}

// createdName is the name of an object that a request creates: as sent, or as a server made it.
func createdName(st *scenario.Step, as ...*Answer) string {
	values := []any{st.Body}
	for _, a := range as {
		values = append(values, a.JSON)
	}
	for _, v := range values {
		if n := first(v, "metadata.name"); n != "" {
			return n
		}
	}
	return "?"
}

// code names a status; the exact code of a successful write does not matter when the
// other side refused it.
func code(a, other *Answer) string {
	if success(a) && !success(other) {
		return "success"
	}
	return strconv.Itoa(a.Status)
}

// status begins the signatures of answers with the same status.
func status(a *Answer) string {
	if success(a) {
		return "ok"
	}
	return strconv.Itoa(a.Status)
}

func success(a *Answer) bool { return a.Status >= 200 && a.Status < 300 }

type stepDiff struct {
	session *Session
	target  Target
	req     string
	step    int
	diffs   []Diff
}

func (d *stepDiff) add(class, what, want, got string) *Diff {
	d.diffs = append(d.diffs, Diff{Step: d.step, Class: class, Signature: d.req + " | " + what, Request: d.req, Want: want, Got: got})
	return &d.diffs[len(d.diffs)-1]
}

func (d *stepDiff) compare(want, got *Answer) {
	wv, gv := d.session.want.value("", want.JSON), d.session.got.value("", got.JSON)
	if want.Status == 0 && got.Status == 0 {
		return // neither answered
	}
	if want.Status != got.Status {
		wc, gc := causes(wv), causes(gv)
		c := wc
		what := "status " + code(want, got) + ", got " + code(got, want)
		if len(gc) > 0 && len(wc) == 0 {
			c = gc
			what += " for " + strings.Join(limit(gc, 3), ", ")
		} else if len(wc) > 0 {
			what += ": " + strings.Join(limit(wc, 3), ", ")
		} else if m := hint(want, got); m != "" {
			what += ": " + m
		}
		d.add("status", what, line(want), line(got)).Causes = c
		return
	}
	d.headers(want, got)
	if want.Stream && got.Stream {
		d.events(want, got)
		return
	}
	if binary(want) || binary(got) {
		// Rules of a user come in any order.
		if !d.target.ownedByServer() && !strings.HasPrefix(d.target.Resource, "selfsubjectrulesreviews.") {
			d.binary(want, got)
		}
		return
	}
	if want.JSON == nil || got.JSON == nil {
		w, g := d.session.want.text(strings.TrimSpace(string(want.Body))), d.session.got.text(strings.TrimSpace(string(got.Body)))
		if w != g {
			if want.Status >= 400 && got.JSON == nil && want.JSON == nil && !d.session.want.messages {
				return // a sentence
			}
			d.add("body", fmt.Sprintf("%s text", status(want)), cut(w), cut(g))
		}
		return
	}
	if bytes.HasPrefix(want.Body, []byte("{\n")) != bytes.HasPrefix(got.Body, []byte("{\n")) {
		d.add("body", fmt.Sprintf("%s indentation", status(want)), cut(string(want.Body)), cut(string(got.Body)))
	}
	if isStatus(wv) && isStatus(gv) {
		d.causes(want, got, wv, gv)
	}
	d.body("body", status(want), wv, gv)
}

// body compares normalised values, managed fields apart.
func (d *stepDiff) body(class, prefix string, wv, gv any) {
	wm, gm := map[string][]any{}, map[string][]any{}
	takeManaged(wv, "", wm)
	takeManaged(gv, "", gm)
	var ch []change
	diff("", "", "", wv, gv, &ch)
	for i, c := range ch {
		if i == 8 {
			break
		}
		d.add(class, strings.TrimSpace(fmt.Sprintf("%s %s%s", prefix, c.sign, c.general)), shownSide(c, "+", c.want), shownSide(c, "-", c.got))
	}
	if len(ch) > 0 && (kindOf(wv) != kindOf(gv)) {
		return
	}
	if d.target.ownedByServer() {
		return
	}
	for _, p := range sortedKeys(wm, gm) {
		_, inWant := wm[p]
		_, inGot := gm[p]
		if p != "" && inWant != inGot {
			continue // the item itself is missing, which was reported
		}
		mc := managed(wm[p], gm[p])
		for i, c := range mc {
			if i == 3 {
				break
			}
			d.add("managedFields", fmt.Sprintf("%s managedFields %s%s", prefix, c.sign, strings.ReplaceAll(c.general, " ", "-")), shownSide(c, "+", c.want),
				shownSide(c, "-", c.got))
		}
		if len(mc) == 0 && managedOrder(wm[p]) != managedOrder(gm[p]) {
			d.add("managedFields", prefix+" managedFields order", managedOrder(wm[p]), managedOrder(gm[p]))
		}
	}
}

// shownSide shows one side of a change; absent is the sign of a change without a value on
// this side.
func shownSide(c change, absent string, v any) string {
	if c.sign == absent && (v == nil || !strings.HasSuffix(c.path, "[]")) {
		return c.path + " absent"
	}
	return c.path + " = " + short(v)
}

func isStatus(v any) bool { return kindOf(v) == "Status" }

func kindOf(v any) string {
	k, _ := scenario.Get(v, "kind")
	s, _ := k.(string)
	return s
}

// minus is the multiset a without b, sorted.
func minus(a, b []string) []string {
	n := map[string]int{}
	for _, x := range b {
		n[x]++
	}
	var out []string
	for _, x := range a {
		if n[x] > 0 {
			n[x]--
			continue
		}
		out = append(out, x)
	}
	sort.Strings(out)
	return out
}

func limit(l []string, n int) []string {
	if len(l) > n {
		return append(append([]string(nil), l[:n]...), fmt.Sprintf("and %d more", len(l)-n))
	}
	return l
}
