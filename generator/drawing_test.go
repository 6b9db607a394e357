package main

import (
	"math/rand/v2"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// drawing draws objects from documents, mostly right ones.
type drawing struct {
	o     *oracle
	rand  *rand.Rand
	often int // percentage of optional members that are there
	wrong int // one value in so many is of the wrong type or missing; 0: none
}

// words are texts that are right for some check and wrong for another.
var words = []string{"a", "web", "example.com", "A_B", "/srv/x", "10.0.0.1", "10.0.0.0/8", "fd00::1", "app.example.com/name", "80", "-x", "Größe", "",
	"a b", strings.Repeat("x", 64), strings.Repeat("y", 300), "UPPER"}

func (d *drawing) spoil() bool { return d.wrong > 0 && d.rand.IntN(d.wrong) == 0 }

func pick[T any](d *drawing, from ...T) T { return from[d.rand.IntN(len(from))] }

func (d *drawing) value(s *schema.Schema, dir string, depth int) any {
	s, dir = d.o.resolve(s, dir)
	if d.spoil() && depth > 0 && !s.PreserveAny {
		return pick[any](d, true, 1.5, "x y", []any{"x"}, object{"x": "y"}, 1e15, -1, nil)
	}
	size := d.rand.IntN(3)
	if depth > 8 {
		size = 0
	}
	if size == 0 && s.MinItems != nil && *s.MinItems > 0 || depth < 4 && size == 0 && d.rand.IntN(2) == 0 {
		size = 1
	}
	switch {
	case s.PreserveAny && len(s.Properties) == 0:
		return pick[any](d, object{"x": []any{1, "y"}}, object{})
	case s.Items != nil:
		list := []any{}
		for range size {
			list = append(list, d.element(s.Items, dir, depth+1))
		}
		if size > 0 && s.Unique != nil && d.rand.IntN(4) == 0 {
			list = append(list, list[0])
		}
		return list
	case s.Additional != nil:
		members := object{}
		for range size {
			members[pick(d, words[:12]...)] = d.element(s.Additional, dir, depth+1)
		}
		return members
	case len(s.Properties) > 0 || s.Type == "object":
		return d.members(s, dir, depth)
	}
	return d.scalar(s)
}

// element draws a value of a list or a map: null means nothing only as a member.
func (d *drawing) element(s *schema.Schema, dir string, depth int) any {
	for {
		if v := d.value(s, dir, depth); v != nil {
			return v
		}
	}
}

func (d *drawing) members(s *schema.Schema, dir string, depth int) any {
	members := object{}
	often := d.often
	if depth > 3 {
		often /= depth - 1
	}
	for _, p := range s.Properties {
		must := enforced(s, &p) || s.Publishes(p.Name)
		if must && !d.spoil() || !must && depth < 9 && d.rand.IntN(100) < often {
			members[p.Name] = d.value(p.Schema, dir, depth+1)
		}
	}
	if d.spoil() {
		members["unheardOf"] = true
	}
	return members
}

func (d *drawing) scalar(s *schema.Schema) any {
	number := func() int {
		if s.Minimum != nil && d.rand.IntN(20) > 0 {
			n := int(*s.Minimum) + d.rand.IntN(3)
			if s.Maximum != nil {
				n = min(n, int(*s.Maximum))
			}
			return n
		}
		return pick(d, 1, 2, 80, 0, 600, 65536)
	}
	switch s.Format {
	case "byte":
		return pick(d, "", "aGVsbG8=", "AAECAw==")
	case "date-time":
		return pick(d, "2024-02-29T12:30:00Z", "2021-01-01T00:00:00+01:00")
	case "micro-time":
		return "2024-02-29T12:30:00.123456Z"
	case "duration":
		return pick(d, "1m30s", "5s", "100ms")
	case "quantity":
		return pick[any](d, "100m", "1Gi", "0", 3, "1.5")
	case "int-or-string":
		if d.rand.IntN(2) == 0 {
			return number()
		}
		return pick(d, "http", "25%", "web")
	}
	switch s.Type {
	case "boolean":
		return d.rand.IntN(2) == 0
	case "integer":
		return number()
	case "number":
		return float64(number()) + 0.5
	}
	if len(s.Enum) > 0 && d.rand.IntN(30) > 0 {
		return pick(d, s.Enum...)
	}
	if d.rand.IntN(2) == 0 {
		if right := map[string]string{"email": "a@example.com", "uri": "https://example.com", "uuid": "123e4567-e89b-12d3-a456-426614174000", "hostname": "example.com", "ipv4": "10.0.0.1",
			"ipv6": "fd00::1", "date": "2024-02-29", "time": "12:30:00Z"}[s.Format]; right != "" {
			return right
		}
	}
	if s.FormatCheck == "" && s.Pattern == "" && s.MaxLength == nil {
		return pick(d, words[:4]...)
	}
	right := map[string]string{"ip": "10.0.0.1", "cidr": "10.0.0.0/8", "absolute-path": "/srv/x", "env-var-name": "A_B"}[s.FormatCheck]
	if right == "" {
		right = "web"
	}
	if d.rand.IntN(30) > 0 {
		return right
	}
	return pick(d, words...)
}
