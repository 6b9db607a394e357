package compat

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/internal/schema"
)

// conversion is how the versions of a custom resource become each other.
type conversion struct {
	webhook bool // else only apiVersion changes
	pos     schema.Position
	kinds   []string // IDs of the served versions
	stored  string   // ID of the stored version
}

// converted notes a version of a custom resource.
func (s *Surface) converted(v *foreign.Version, id string) {
	if s.converts == nil {
		s.converts = map[string]*conversion{}
	}
	name := v.Group + "/" + v.Resource.Plural
	k := s.converts[name]
	if k == nil {
		at := v.Definition.At("conversion")
		k = &conversion{webhook: at.At("strategy").Text() == "Webhook", pos: v.Resource.Pos}
		if at.Here() {
			k.pos.Line = foreign.LineOf(at)
		}
		s.converts[name] = k
	}
	if k.kinds = append(k.kinds, id); v.Stored {
		k.stored = id
	}
}

// conversions compares what becomes of members that not all versions of a custom resource have.
func (c *comparison) conversions() {
	for _, name := range sorted(c.now.converts) {
		was, is := c.old.converts[name], c.now.converts[name]
		stored := c.now.kinds[is.stored]
		if was == nil || is.webhook || stored == nil {
			continue
		}
		for _, id := range is.kinds {
			other := c.now.kinds[id]
			u := use{anyWay, stabilityOf(other.of.Stability)}
			switch {
			case id == is.stored:
			case !was.webhook:
				c.alone(u, id, other.shape, stored.shape, map[pair]bool{})
				c.alone(u, is.stored, stored.shape, other.shape, map[pair]bool{})
			default:
				for _, p := range []pair{{other.shape, stored.shape}, {stored.shape, other.shape}} {
					if lost := p.old.lacking(p.now, map[pair]bool{}); lost != "" {
						c.find(u, "conversion-dropped", is.pos, name, "converts nothing any more, and only one of %s and %s has %s", id, is.stored, lost)
						break
					}
				}
			}
		}
	}
}

// lacking is the path of a member that another shape lacks; "" for none.
func (t *shape) lacking(other *shape, seen map[pair]bool) string {
	if seen[pair{t, other}] {
		return ""
	}
	seen[pair{t, other}] = true
	for _, m := range t.members {
		o := other.property(m.name)
		if o == nil && !other.open {
			return m.name
		}
		if o != nil {
			if below := m.lacking(o.shape, seen); below != "" {
				return m.name + "." + below
			}
		}
	}
	if t.elem != nil && other.elem != nil {
		return t.elem.lacking(other.elem.shape, seen)
	}
	return ""
}

// renames finds an earlier name of a member that was given up while another version has it.
func (c *comparison) renames(u use, old, now *member, path string) {
	for _, from := range old.renamed {
		if slices.Contains(now.renamed, from) {
			continue
		}
		switch found, byHand := c.elsewhere(path, from); {
		case byHand:
			c.find(u, "field-rename-by-hook", now.pos, path, "is the %s of another version by hand-written code only", from)
		case found:
			c.find(u, "field-rename-dropped", now.pos, path, "is no longer the %s of another version", from)
		}
	}
}

// byHand reports whether hand-written code converts the objects of a kind.
func (c *comparison) byHand(k *kind) bool {
	for _, v := range c.now.versions {
		for _, r := range v.resources {
			if r.Type != nil && r.Type.ID == k.id && r.Conversion != nil && r.Conversion.Hook {
				return true
			}
		}
	}
	return false
}

// elsewhere reports whether another version has a member of a name next to the one at a path,
// and lacks that one, and whether hand-written code converts between the two.
func (c *comparison) elsewhere(path, from string) (found, byHand bool) {
	for _, k := range c.now.kinds {
		rest, below := strings.CutPrefix(path, k.id+".")
		if !below {
			continue
		}
		names := strings.Split(rest, ".")
		for _, o := range c.now.kinds {
			if o == k || o.name != k.name || folder(o.of.Dir) != folder(k.of.Dir) {
				continue
			}
			at := o.shape
			for _, name := range names[:len(names)-1] {
				m := at.property(strings.TrimRight(name, "[]*"))
				if m == nil {
					at = nil
					break
				}
				for at = m.shape; at.elem != nil; {
					at = at.elem.shape
				}
			}
			if at != nil && at.property(from) != nil && at.property(names[len(names)-1]) == nil {
				return true, c.byHand(k) || c.byHand(o)
			}
		}
	}
	return false, false
}
