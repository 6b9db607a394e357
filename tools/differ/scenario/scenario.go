// Package scenario holds the requests that both servers get, and their form on disk: the YAML of the replay kit.
package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// DupPrefix begins a map key that is written as a second occurrence of the key after it: {"a":1,"\x00a":2} becomes {"a":1,"a":2}.
const DupPrefix = "\x00"

// Scenario is a list of requests sent in order, in a fresh namespace ${NS}.
type Scenario struct {
	Name  string   `json:"name"`
	Spec  string   `json:"spec,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Steps []*Step  `json:"steps"`
}

// Step is one request. Strings may hold ${VARIABLES}, which each side fills from its own
// answers. Binary sends the body in the binary form. As names the user (see exec.Side),
// an administrator where it is empty.
type Step struct {
	Name    string            `json:"name"`
	As      string            `json:"as,omitempty"`
	Method  string            `json:"method,omitempty"`
	Path    string            `json:"path,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
	Raw     *string           `json:"raw,omitempty"`
	Binary  bool              `json:"binary,omitempty"`
	Watch   *Watch            `json:"watch,omitempty"`
	Sleep   float64           `json:"sleep,omitempty"`
	Save    map[string]string `json:"save,omitempty"`
}

// Watch marks a step whose answer is a stream, read until it ends or the time is over.
type Watch struct {
	TimeoutSeconds float64 `json:"timeoutSeconds,omitempty"`
}

// Clone copies a scenario so that it can be changed.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Tags = append([]string(nil), s.Tags...)
	c.Steps = make([]*Step, len(s.Steps))
	for i, st := range s.Steps {
		c.Steps[i] = st.Clone()
	}
	return &c
}

// Clone copies a step so that it can be changed.
func (st *Step) Clone() *Step {
	c := *st
	c.Body = Copy(st.Body)
	c.Headers = map[string]string{}
	for k, v := range st.Headers {
		c.Headers[k] = v
	}
	c.Save = map[string]string{}
	for k, v := range st.Save {
		c.Save[k] = v
	}
	return &c
}

// Copy copies a JSON value.
func Copy(v any) any {
	switch c := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(c))
		for k, x := range c {
			out[k] = Copy(x)
		}
		return out
	case []any:
		out := make([]any, len(c))
		for i, x := range c {
			out[i] = Copy(x)
		}
		return out
	}
	return v
}

// Encode writes a JSON value with sorted keys; keys that begin with DupPrefix repeat the key they name.
func Encode(v any) []byte {
	var b bytes.Buffer
	encode(&b, v)
	return b.Bytes()
}

func encode(b *bytes.Buffer, v any) {
	switch c := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(c))
		for k := range c {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			a, z := strings.TrimLeft(keys[i], DupPrefix), strings.TrimLeft(keys[j], DupPrefix)
			if a != z {
				return a < z
			}
			return len(keys[i]) < len(keys[j])
		})
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			kb, _ := json.Marshal(strings.TrimLeft(k, DupPrefix))
			b.Write(kb)
			b.WriteByte(':')
			encode(b, c[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, x := range c {
			if i > 0 {
				b.WriteByte(',')
			}
			encode(b, x)
		}
		b.WriteByte(']')
	default:
		x, err := json.Marshal(v)
		if err != nil {
			x = []byte("null")
		}
		b.Write(x)
	}
}

// HasDuplicates reports whether a value needs Encode because it repeats keys.
func HasDuplicates(v any) bool {
	switch c := v.(type) {
	case map[string]any:
		for k, x := range c {
			if strings.HasPrefix(k, DupPrefix) || HasDuplicates(x) {
				return true
			}
		}
	case []any:
		for _, x := range c {
			if HasDuplicates(x) {
				return true
			}
		}
	}
	return false
}

// Fill replaces ${NAME} by its value. A variable that was never learnt becomes "unknown".
func Fill(s string, vars map[string]string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		j := strings.IndexByte(s[i:], '}')
		if j < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if v, ok := vars[s[i+2:i+j]]; ok {
			b.WriteString(v)
		} else {
			b.WriteString("unknown")
		}
		s = s[i+j+1:]
	}
}

// FillValue replaces variables in all strings of a JSON value, keys included.
func FillValue(v any, vars map[string]string) any {
	switch c := v.(type) {
	case string:
		return Fill(c, vars)
	case []any:
		out := make([]any, len(c))
		for i := range c {
			out[i] = FillValue(c[i], vars)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(c))
		for k, x := range c {
			out[Fill(k, vars)] = FillValue(x, vars)
		}
		return out
	}
	return v
}

// Payload is the body as it goes over the wire; nil when there is none.
func (st *Step) Payload(vars map[string]string) []byte {
	switch {
	case st.Raw != nil:
		return []byte(Fill(*st.Raw, vars))
	case st.Body != nil:
		return Encode(FillValue(st.Body, vars))
	}
	return nil
}

// Load reads a scenario file.
func Load(file string) (*Scenario, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &Scenario{}
	if err := yaml.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %v", file, err)
	}
	return s, nil
}

var order = []string{"name", "as", "method", "path", "headers", "body", "raw", "binary", "watch", "sleep", "save"}

// YAML writes the scenario with its keys in reading order; comment lines come first.
func (s *Scenario) YAML(comment string) ([]byte, error) {
	var b bytes.Buffer
	for _, l := range strings.Split(strings.TrimRight(comment, "\n"), "\n") {
		if comment != "" {
			b.WriteString(strings.TrimRight("# "+l, " ") + "\n")
		}
	}
	if err := writeMember(&b, "name", s.Name, ""); err != nil {
		return nil, err
	}
	if s.Spec != "" {
		if err := writeMember(&b, "spec", s.Spec, ""); err != nil {
			return nil, err
		}
	}
	if len(s.Tags) > 0 {
		b.WriteString("tags: [" + strings.Join(s.Tags, ", ") + "]\n")
	}
	b.WriteString("managedFields: true\nsteps:\n")
	for i, st := range s.Steps {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := st.write(&b, s.Steps[i+1:]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// write writes the step as an item of a list. Variables that no later step uses are left out.
func (st *Step) write(b *bytes.Buffer, later []*Step) error {
	w := *st
	w.Save = used(st.Save, later)
	if HasDuplicates(w.Body) {
		raw := string(Encode(w.Body))
		w.Raw, w.Body = &raw, nil
	}
	j, err := json.Marshal(w)
	if err != nil {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal(j, &m); err != nil {
		return err
	}
	if h, ok := m["headers"].(map[string]any); ok {
		for k, v := range h {
			if v == "" {
				h[k] = nil // a header that is not sent
			}
		}
	}
	begin := b.Len()
	for _, k := range order {
		if v, ok := m[k]; ok {
			if err := writeMember(b, k, v, "    "); err != nil {
				return err
			}
		}
	}
	if b.Len() > begin {
		copy(b.Bytes()[begin:], "  - ")
	}
	return nil
}

func writeMember(b *bytes.Buffer, key string, v any, indent string) error {
	y, err := yaml.Marshal(map[string]any{key: v})
	if err != nil {
		return err
	}
	for _, l := range strings.Split(strings.TrimRight(string(y), "\n"), "\n") {
		b.WriteString(indent + l + "\n")
	}
	return nil
}

// Uses reports whether a step sends a variable.
func (st *Step) Uses(v string) bool {
	name := "${" + v + "}"
	return strings.Contains(st.Path, name) || bytes.Contains(Encode(st.Body), []byte(name)) || (st.Raw != nil && strings.Contains(*st.Raw, name))
}

// used leaves out the variables that no later step needs.
func used(save map[string]string, later []*Step) map[string]string {
	out := map[string]string{}
	for v, p := range save {
		for _, st := range later {
			if st.Uses(v) {
				out[v] = p
				break
			}
		}
	}
	return out
}

// Get follows a path like metadata.uid or items[0].metadata.name.
func Get(v any, path string) (any, bool) {
	for _, p := range strings.Split(strings.ReplaceAll(path, "[", ".["), ".") {
		if p == "" {
			continue
		}
		if strings.HasPrefix(p, "[") {
			l, ok := v.([]any)
			var n int
			if _, err := fmt.Sscanf(p, "[%d]", &n); err != nil || !ok || n < 0 || n >= len(l) {
				return nil, false
			}
			v = l[n]
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[p]; !ok {
			return nil, false
		}
	}
	return v, true
}
