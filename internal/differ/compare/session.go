package compare

import (
	"bytes"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/differ/scenario"
)

// Diff is one difference between the two answers to a step.
type Diff struct {
	Step      int      `json:"step"`
	Signature string   `json:"signature"` // groups equal differences: request, what differs
	Class     string   `json:"class"`     // status, causes, reason, body, managedFields, header, warning, table, events, binary
	Request   string   `json:"request"`   // like "POST deployments.apps"
	Want      string   `json:"want"`
	Got       string   `json:"got"`
	Causes    []string `json:"causes,omitempty"` // of the refusal, when one side refused
}

// Session compares the answers of one scenario, step by step.
type Session struct {
	want, got *normalizer
	ns        string
	lost      map[string]bool            // objects that exist in different states: nothing more is said about them
	said      map[string]map[string]bool // differences already reported, by object
}

// NewSession begins a scenario.
func NewSession(ns string, o Options) *Session {
	s := &Session{want: newNormalizer(ns, o), got: newNormalizer(ns, o), ns: ns, lost: map[string]bool{}, said: map[string]map[string]bool{}}
	if !o.Recorded.IsZero() {
		s.want.now = func() time.Time { return o.Recorded }
	}
	return s
}

// Target is what a request addresses, read from its method, path and headers.
type Target struct {
	Verb       string
	Resource   string // like deployments.apps or pods/status
	Collection string // path of the collection
	Object     string // path of the object, empty for a collection
}

// ownedByServer says whether the object exists in every server, kept by a loop inside it: who wrote its fields is a matter of timing.
func (t Target) ownedByServer() bool {
	if t.Object == "" || strings.Contains(t.Object, "${NS}") {
		return false
	}
	for _, r := range []string{"apiservices.", "flowschemas.", "prioritylevelconfigurations."} {
		if strings.HasPrefix(t.Resource, r) {
			return true
		}
	}
	return false
}

// TargetOf reads the target of a step.
func TargetOf(st *scenario.Step) Target {
	u, err := url.Parse(st.Path)
	if err != nil {
		return Target{Verb: st.Method, Resource: "?"}
	}
	seg := strings.Split(strings.Trim(u.Path, "/"), "/")
	t := Target{Resource: strings.Trim(u.Path, "/")}
	group := ""
	rest := seg
	switch {
	case len(seg) >= 2 && seg[0] == "api":
		rest = seg[2:]
	case len(seg) >= 3 && seg[0] == "apis":
		group, rest = "."+seg[1], seg[3:]
	default:
		t.Verb = st.Method
		return t
	}
	prefix := "/" + strings.Join(seg[:len(seg)-len(rest)], "/")
	if len(rest) >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize" {
		prefix += "/" + strings.Join(rest[:2], "/")
		rest = rest[2:]
	}
	if len(rest) == 0 {
		t.Verb = st.Method
		return t
	}
	t.Resource, t.Collection = rest[0]+group, prefix+"/"+rest[0]
	if len(rest) > 1 {
		t.Object = t.Collection + "/" + rest[1]
	}
	if len(rest) > 2 {
		t.Resource += "/" + strings.Join(rest[2:], "/")
	}
	t.Verb = verb(st, t.Object != "")
	return t
}

func verb(st *scenario.Step, object bool) string {
	ct := ""
	for k, v := range st.Headers {
		if strings.EqualFold(k, "Content-Type") {
			ct = v
		}
	}
	switch st.Method {
	case "GET":
		switch {
		case st.Watch != nil:
			return "WATCH"
		case object:
			return "GET"
		}
		return "LIST"
	case "DELETE":
		if !object {
			return "DELETECOLLECTION"
		}
	case "PATCH":
		for _, k := range []string{"apply", "strategic-merge", "json-patch", "merge"} {
			if strings.Contains(ct, k) {
				return "PATCH-" + strings.TrimSuffix(strings.TrimSuffix(k, "-patch"), "-merge")
			}
		}
	case "PUT":
		return "PUT"
	}
	return st.Method
}

// Step compares the answers to one step and says only what was not said before about the same object.
func (s *Session) Step(i int, st *scenario.Step, want, got *Answer) []Diff {
	t := TargetOf(st)
	d := &stepDiff{session: s, target: t, req: t.Verb + " " + t.Resource, step: i}
	obj := t.Object
	if obj == "" && st.Method == "POST" {
		obj = t.Collection + "/" + s.want.text(createdName(want, got))
	}
	lost := s.isLost(t, st)
	if cached(t, st) {
		sortItems(want.JSON)
		sortItems(got.JSON)
	}
	d.compare(want, got)
	wrote := st.Method != "GET" && st.Method != "HEAD"
	if wrote && success(want) != success(got) {
		s.lost[obj] = true
		if t.Verb == "DELETECOLLECTION" {
			s.lost[t.Collection+"/*"] = true
		}
	}
	if lost {
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

// wasSaid says whether a place was reported for the object before, or for any object of the resource when all of them are shown.
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

// cached says whether a list may come from a cache, in any order.
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

// lastPath is the part of a signature that names the place, without the request and without the list it was seen in.
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

func (s *Session) isLost(t Target, st *scenario.Step) bool {
	if t.Object != "" {
		return s.lost[t.Object] || s.lost[t.Collection+"/*"]
	}
	if st.Method == "POST" {
		return false
	}
	for k := range s.lost {
		// Another version or group may show the same objects.
		if i := strings.LastIndexByte(k, '/'); i > 0 && resourceOf(k[:i]) == resourceOf(t.Collection) {
			return true
		}
	}
	return false
}

func resourceOf(collection string) string {
	return collection[strings.LastIndexByte(collection, '/')+1:]
}

func createdName(as ...*Answer) string {
	for _, a := range as {
		if n, ok := scenario.Get(a.JSON, "metadata.name"); ok {
			return fmt.Sprint(n)
		}
	}
	return "?"
}

// code names a status; how exactly a write succeeded says nothing when the other side refused it.
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
		d.causes(want.Status, wv, gv)
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
		d.add(class, strings.TrimSpace(fmt.Sprintf("%s %s%s", prefix, c.sign, c.general)), place(c, "+", c.want), place(c, "-", c.got))
	}
	if len(ch) > 0 && (kindOf(wv) != kindOf(gv)) {
		return
	}
	if d.target.ownedByServer() {
		return
	}
	for _, p := range sortedKeys(wm, gm) {
		mc := managed(wm[p], gm[p])
		for i, c := range mc {
			if i == 3 {
				break
			}
			d.add("managedFields", fmt.Sprintf("%s managedFields %s%s", prefix, c.sign, strings.ReplaceAll(c.general, " ", "-")), place(c, "+", c.want), place(c, "-", c.got))
		}
		if len(mc) == 0 && managedOrder(wm[p]) != managedOrder(gm[p]) {
			d.add("managedFields", prefix+" managedFields order", managedOrder(wm[p]), managedOrder(gm[p]))
		}
	}
}

// place shows one side of a change; absent is the sign under which this side has nothing there.
func place(c change, absent string, v any) string {
	if c.sign == absent && (v == nil || !strings.HasSuffix(c.path, "[]")) {
		return c.path + " absent"
	}
	return c.path + " = " + short(v)
}

// causes compares the causes of two refusals, then takes them away so that the rest can be compared.
func (d *stepDiff) causes(status int, wv, gv any) {
	w, g := causes(wv), causes(gv)
	missing, extra := minus(w, g), minus(g, w)
	var parts []string
	for _, m := range missing {
		paired := false
		f, r, _ := strings.Cut(m, "/")
		for i, e := range extra {
			if ef, er, _ := strings.Cut(e, "/"); ef == f {
				parts = append(parts, fmt.Sprintf("~%s %s, got %s", f, r, er))
				extra = append(extra[:i:i], extra[i+1:]...)
				paired = true
				break
			}
		}
		if !paired {
			parts = append(parts, "-"+m)
		}
	}
	for _, e := range extra {
		parts = append(parts, "+"+e)
	}
	all := func(l []string) string { return strings.Join(limit(l, 8), ", ") }
	for i, p := range parts {
		if i == 6 {
			break
		}
		d.add("causes", fmt.Sprintf("%d causes %s", status, p), all(w), all(g)).Causes = w
	}
	// The validators of custom resources list their causes in any order.
	if len(parts) == 0 && !strings.HasSuffix(d.target.Resource, "differ.example.com") && strings.Join(w, ";") != strings.Join(g, ";") {
		d.add("order", fmt.Sprintf("%d causes in another order", status), all(w), all(g)).Causes = w
	}
	if !d.session.want.messages || len(parts) > 0 {
		for _, v := range []any{wv, gv} {
			if m, ok := v.(map[string]any); ok {
				if det, ok := m["details"].(map[string]any); ok {
					delete(det, "causes")
					if len(det) == 0 {
						delete(m, "details")
					}
				}
				if len(parts) > 0 {
					delete(m, "message")
				}
			}
		}
	}
}

func isStatus(v any) bool { return kindOf(v) == "Status" }

func kindOf(v any) string {
	k, _ := scenario.Get(v, "kind")
	s, _ := k.(string)
	return s
}

// causes lists field/reason of a Status.
func causes(v any) []string {
	if !isStatus(v) {
		return nil
	}
	l, _ := scenario.Get(v, "details.causes")
	items, _ := l.([]any)
	var out []string
	for _, x := range items {
		m, _ := x.(map[string]any)
		f, _ := m["field"].(string)
		r, _ := m["reason"].(string)
		if f == "<nil>" || f == "" {
			f = "(object)"
		}
		out = append(out, generalField(f)+"/"+r)
	}
	return out
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
