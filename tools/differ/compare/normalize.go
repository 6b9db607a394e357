// Package compare finds the differences of two answers to the same request, after making
// equal the parts that may differ.
package compare

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Answer is the answer of a server.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   any
	Events []any
	Stream bool
}

// Parse reads the body of an answer that is JSON or YAML.
func (a *Answer) Parse() {
	if a.Stream {
		return
	}
	var err error
	switch ct := a.Header.Get("Content-Type"); {
	case strings.HasPrefix(ct, "application/yaml"):
		err = yaml.Unmarshal(a.Body, &a.JSON)
	case strings.Contains(ct, "json") || (len(a.Body) > 0 && a.Body[0] == '{'):
		err = json.Unmarshal(a.Body, &a.JSON)
	}
	if err != nil {
		a.JSON = nil
	}
}

// Options select comparisons beyond the defaults.
type Options struct {
	Messages bool      // sentences too: messages of statuses, causes and conditions, descriptions of columns
	Recorded time.Time // when the reference answered, where that was not just now

	// Diverges reports whether a write that both sides accepted is known to leave its
	// object in different states; it may be nil.
	Diverges func(*scenario.Step, []Diff) bool
	// RefusedDiverges reports the same of a write that both sides refused; it may be nil.
	RefusedDiverges func(*scenario.Step) bool
}

var (
	reUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	reJWT  = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	reVol  = regexp.MustCompile(`^kube-api-access-[a-z0-9]{5}$`)
	reWhen = regexp.MustCompile(`20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	// reDump matches an object as its implementation prints it, addresses included; the
	// rest of the text cannot be compared.
	reDump = regexp.MustCompile(`(?s)[&*\[\]]*\b[a-z][a-z0-9]*\.[A-Z]\w*\{.*|"\{\\".*`)
	reRV   = regexp.MustCompile(`resourceVersion[^0-9]{1,4}\d+|"\d+"|\(\d+\)`)
)

// lastPort is the last one that a server may choose; a dry run looks a little beyond the range.
const lastPort = 33100

// normalizer makes one side's answers of one scenario comparable. Versions of one object are numbered in the order in which they were seen.
type normalizer struct {
	ns       string
	messages bool
	now      func() time.Time
	versions map[string][]string
	columns  []any // of the last table: in a stream only the first one carries them
}

func newNormalizer(ns string, o Options) *normalizer {
	return &normalizer{ns: ns, messages: o.Messages, now: time.Now, versions: map[string][]string{}}
}

// text hides values specific to the run in a string.
func (n *normalizer) text(s string) string {
	s = strings.ReplaceAll(s, n.ns, "${NS}")
	return reUID.ReplaceAllStringFunc(s, func(u string) string {
		if strings.HasPrefix(u, "00000000-") { // sent by the scenario itself
			return u
		}
		return "<uid>"
	})
}

// recent reports whether a time is near that of the answer, so that the server has set
// it.
func (n *normalizer) recent(s string) bool {
	if len(s) < 20 || s[4] != '-' || s[10] != 'T' {
		return false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return false
	}
	return n.near(t)
}

func (n *normalizer) near(t time.Time) bool {
	d := n.now().Sub(t)
	return d < 48*time.Hour && d > -48*time.Hour
}

func (n *normalizer) str(key, s string) string {
	switch {
	case key == "resourceVersion" && s != "" && s != "0":
		return "<rv>"
	case key == "continue" && s != "":
		return "<continue>"
	case n.recent(s):
		if strings.Contains(s, ".") {
			return "<microtime>"
		}
		return "<time>"
	case reJWT.MatchString(s):
		return "<jwt>"
	case reVol.MatchString(s):
		return "kube-api-access-<generated>"
	case (key == "clusterIP" || key == "clusterIPs") && net.ParseIP(s) != nil:
		return "<ip>"
	}
	return n.text(s)
}

// value normalises a JSON value found under a key.
func (n *normalizer) value(key string, v any) any {
	switch c := v.(type) {
	case string:
		return n.str(key, c)
	case float64:
		if (key == "nodePort" || key == "healthCheckNodePort") && c >= 30000 && c <= lastPort {
			return "<port>"
		}
	case []any:
		out := make([]any, 0, len(c))
		for _, x := range c {
			x = n.value(key, x)
			if m, ok := x.(map[string]any); ok && !n.messages && (key == "causes" || key == "conditions") {
				delete(m, "message")
			}
			out = append(out, x)
		}
		if key == "resourceRules" || key == "nonResourceRules" { // gathered from bindings in any order
			sort.SliceStable(out, func(i, j int) bool { return Compact(out[i]) < Compact(out[j]) })
		}
		return out
	case map[string]any:
		return n.object(key, c)
	}
	return v
}

func (n *normalizer) object(key string, c map[string]any) any {
	kind, _ := c["kind"].(string)
	out := make(map[string]any, len(c))
	for k, x := range c {
		if k == "storageVersionHash" {
			continue
		}
		if key == "metadata" && k == "name" {
			gen, _ := c["generateName"].(string)
			if s, ok := x.(string); ok && gen != "" && strings.HasPrefix(s, gen) && len(s) == len(gen)+5 {
				out[k] = n.text(gen) + "<generated>"
				continue
			}
		}
		out[n.text(k)] = n.value(k, x)
	}
	if out["reason"] == "FieldManagerConflict" {
		delete(out, "message") // of several managers any one may be named
	}
	if m, ok := out["message"].(string); ok && n.messages {
		out["message"] = reDump.ReplaceAllString(reRV.ReplaceAllString(reWhen.ReplaceAllString(m, "<time>"), "<rv>"), "<dump>")
	}
	if key == "metadata" {
		uid, _ := c["uid"].(string)
		rv, _ := c["resourceVersion"].(string)
		if uid != "" && rv != "" {
			out["resourceVersion"] = n.version(uid, rv)
		}
	}
	if kind == "Status" && c["apiVersion"] == "v1" {
		n.status(out)
	}
	if st, ok := out["status"].(map[string]any); ok && !n.messages && (strings.HasSuffix(kind, "Review") || kind == "TokenRequest") {
		for _, k := range []string{"reason", "evaluationError", "error"} {
			delete(st, k)
		}
	}
	if kind == "Table" {
		n.table(out)
	}
	return out
}

// version numbers the versions of an object as they are first seen: an update that changes nothing keeps its number.
func (n *normalizer) version(uid, rv string) string {
	seen := n.versions[uid]
	for i, v := range seen {
		if v == rv {
			return "<rv " + strconv.Itoa(i+1) + ">"
		}
	}
	n.versions[uid] = append(seen, rv)
	return "<rv " + strconv.Itoa(len(seen)+1) + ">"
}

func (n *normalizer) status(out map[string]any) {
	if !n.messages {
		delete(out, "message")
	}
	for _, k := range []string{"metadata", "details"} {
		if m, ok := out[k].(map[string]any); ok && len(m) == 0 {
			delete(out, k)
		}
	}
}

var ageColumns = map[string]bool{"Age": true, "Created At": true, "Last Seen": true, "First Seen": true, "Duration": true, "Last Schedule": true}

// table hides ages, and drops column documentation.
func (n *normalizer) table(t map[string]any) {
	cols, _ := t["columnDefinitions"].([]any)
	if len(cols) == 0 {
		cols = n.columns
	}
	n.columns = cols
	age := map[int]bool{}
	for i, c := range cols {
		m, ok := c.(map[string]any)
		if !ok {
			continue
		}
		if !n.messages {
			delete(m, "description")
		}
		name, _ := m["name"].(string)
		age[i] = m["type"] == "date" || ageColumns[name]
	}
	rows, _ := t["rows"].([]any)
	for _, r := range rows {
		m, ok := r.(map[string]any)
		if !ok {
			continue
		}
		cells, _ := m["cells"].([]any)
		for i := range cells {
			s, ok := cells[i].(string)
			if !ok {
				continue
			}
			switch {
			case age[i] && s != "" && !strings.HasPrefix(s, "<"):
				cells[i] = "<age>"
			case net.ParseIP(s) != nil && i < len(cols) && scalar(cols[i], "name") == "Cluster-IP":
				cells[i] = "<ip>"
			case i < len(cols) && scalar(cols[i], "name") == "Port(s)":
				cells[i] = rePorts.ReplaceAllString(s, ":<port>")
			}
		}
	}
}

var rePorts = regexp.MustCompile(`:3[0-3]\d{3}\b`)

func scalar(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

// Compact writes a JSON value on one line.
func Compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "?"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func short(v any) string {
	s := Compact(v)
	if len(s) > 200 {
		s = s[:197] + "..."
	}
	return s
}

func sortedKeys[V any](ms ...map[string]V) []string {
	set := map[string]bool{}
	for _, m := range ms {
		for k := range m {
			set[k] = true
		}
	}
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
