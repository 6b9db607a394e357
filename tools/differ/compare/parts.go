package compare

import (
	"fmt"
	"net/http"
	"regexp"
	"sort"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

func cut(s string) string {
	if len(s) > 300 {
		return s[:297] + "..."
	}
	return s
}

// line shows an answer in a few words.
func line(a *Answer) string {
	if a.Status == 0 {
		return "no answer: " + cut(string(a.Body))
	}
	s := fmt.Sprint(a.Status)
	if binary(a) {
		return fmt.Sprintf("%s, %d bytes of the binary form", s, len(a.Body))
	}
	if isStatus(a.JSON) {
		r, _ := scenario.Get(a.JSON, "reason")
		m, _ := scenario.Get(a.JSON, "message")
		return fmt.Sprintf("%s %v: %s", s, or(r, "-"), cut(fmt.Sprint(or(m, ""))))
	}
	if k := kindOf(a.JSON); k != "" {
		n, _ := scenario.Get(a.JSON, "metadata.name")
		return fmt.Sprintf("%s %s %v", s, k, or(n, ""))
	}
	return s + " " + cut(strings.TrimSpace(string(a.Body)))
}

func or(v, other any) any {
	if v == nil {
		return other
	}
	return v
}

var (
	reQuoted = regexp.MustCompile(`"[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}`)
	reNumber = regexp.MustCompile(`\d+`)
	reNames  = regexp.MustCompile(`\b[A-Z]\w+ in version|\b[a-z]+(\.[a-z0-9]+)+|\S*\$\{NS\}\S*|\bdf\S+|\S+ based on URL`)
)

// hint distinguishes refusals without causes: by their reasons, and where these are
// unspecific by the beginning of the message.
func hint(want, got *Answer) string {
	var parts []string
	for _, a := range []*Answer{want, got} {
		if success(a) || !isStatus(a.JSON) {
			continue
		}
		m, _ := scenario.Get(a.JSON, "message")
		r, _ := scenario.Get(a.JSON, "reason")
		text := fmt.Sprint(or(m, ""))
		switch reason := fmt.Sprint(or(r, "-")); {
		case reason == "NotFound" && strings.HasPrefix(text, "the server could not find"):
			parts = append(parts, "NotFound (path)")
		case reason == "-" || reason == "BadRequest" || reason == "InternalError":
			s := reNumber.ReplaceAllString(reNames.ReplaceAllString(reQuoted.ReplaceAllString(text, "_"), "_"), "0")
			if len(s) > 60 {
				s = s[:60]
			}
			parts = append(parts, fmt.Sprintf("%s (%s)", reason, strings.Join(strings.Fields(s), " ")))
		default:
			parts = append(parts, reason)
		}
	}
	return strings.Join(parts, " / ")
}

var compared = []string{"Content-Type", "Allow", "Location", "Cache-Control", "Content-Encoding"}

func (d *stepDiff) headers(want, got *Answer) {
	for _, h := range compared {
		w, g := d.session.want.text(want.Header.Get(h)), d.session.got.text(got.Header.Get(h))
		if w != g {
			d.add("header", fmt.Sprintf("%s header %s", status(want), h), h+": "+w, h+": "+g)
		}
	}
	if (want.Header.Get("Retry-After") != "") != (got.Header.Get("Retry-After") != "") {
		d.add("header", fmt.Sprintf("%s header Retry-After", status(want)), "Retry-After: "+want.Header.Get("Retry-After"),
			"Retry-After: "+got.Header.Get("Retry-After"))
	}
	w, g := d.warnings(want.Header), d.warnings(got.Header)
	missing, extra := minus(w, g), minus(g, w)
	for _, m := range missing {
		d.add("warning", fmt.Sprintf("%s warning -%s", status(want), general(m)), m, strings.Join(extra, " / "))
	}
	if len(missing) > 0 {
		return
	}
	for _, e := range extra {
		d.add("warning", fmt.Sprintf("%s warning +%s", status(want), general(e)), "absent", e)
	}
	if len(extra) == 0 && strings.Join(w, "\n") != strings.Join(g, "\n") {
		d.add("warning", fmt.Sprintf("%s warnings in another order", status(want)), strings.Join(w, " / "), strings.Join(g, " / "))
	}
}

// general is a warning's text without quoted values.
func general(s string) string {
	if i := strings.Index(s, " \""); i > 0 && strings.HasSuffix(s, "\"") {
		s = strings.ReplaceAll(s[i+2:len(s)-1], "\\\"", "'")
	}
	s = reNumber.ReplaceAllString(reQuoted.ReplaceAllString(s, "_"), "0")
	if len(s) > 90 {
		s = s[:90]
	}
	return s
}

func (d *stepDiff) warnings(h http.Header) []string {
	var out []string
	for _, v := range h.Values("Warning") {
		out = append(out, d.session.want.text(v))
	}
	return out
}

// events compares two streams: first the types of events by object, then the objects.
func (d *stepDiff) events(want, got *Answer) {
	if len(want.Body) > 0 || len(got.Body) > 0 {
		// Not JSON: the two streams are compared as they are only where both ended in the same way.
		if (len(want.Body) > 0) != (len(got.Body) > 0) {
			d.add("events", "stream form", cut(string(want.Body)), cut(string(got.Body)))
		}
		return
	}
	w, g := listing(want.Events), listing(got.Events)
	if strings.Join(w, ",") != strings.Join(g, ",") {
		sw, sg := append([]string(nil), w...), append([]string(nil), g...)
		sort.Strings(sw)
		sort.Strings(sg)
		what := "events"
		if strings.Join(sw, ",") == strings.Join(sg, ",") {
			what = "events in another order"
		} else {
			types := func(l []string) string {
				var t []string
				for _, x := range l {
					f, _, _ := strings.Cut(x, " ")
					t = append(t, f)
				}
				return strings.Join(limit(t, 4), ",")
			}
			what += fmt.Sprintf(" -[%s] +[%s]", types(minus(w, g)), types(minus(g, w)))
		}
		d.add("events", what, strings.Join(limit(w, 12), ", "), strings.Join(limit(g, 12), ", "))
		return
	}
	for i := range want.Events {
		wv, gv := d.session.want.value("", want.Events[i]), d.session.got.value("", got.Events[i])
		d.body("events", "event", wv, gv)
	}
}

func listing(events []any) []string {
	var out []string
	for _, e := range events {
		t, _ := scenario.Get(e, "type")
		n, _ := scenario.Get(e, "object.metadata.name")
		if n == nil {
			n, _ = scenario.Get(e, "object.reason")
		}
		out = append(out, fmt.Sprintf("%v %v", or(t, "?"), or(n, "?")))
	}
	return out
}
