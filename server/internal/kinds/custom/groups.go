package custom

import (
	"iter"
	"strings"

	"github.com/tidwall/btree"

	"github.com/capstan-dev/capstan/server/internal/live"
)

// groups is an index of the definitions by group, so that a change costs as much as its
// group is large. It never changes once it is made.
type groups struct {
	members *btree.Map[string, *definition] // by group, "/" and key
	waiting *btree.Map[string, *definition] // by key, those that wait for their objects to be removed
}

// fold makes the index after some changes.
func (g groups) fold(changes []live.Change[*definition]) groups {
	if g.members == nil {
		g = groups{new(btree.Map[string, *definition]), new(btree.Map[string, *definition])}
	}
	g = groups{g.members.Copy(), g.waiting.Copy()}
	for _, c := range changes {
		if c.Before != nil {
			g.members.Delete(c.Before.group + "/" + c.Key)
			g.waiting.Delete(c.Key)
		}
		if c.After != nil {
			g.members.Set(c.After.group+"/"+c.Key, c.After)
		}
		if c.After != nil && c.After.finalize {
			g.waiting.Set(c.Key, c.After)
		}
	}
	return g
}

// wait reports whether definitions wait for their objects to be removed.
func (g groups) wait() bool { return g.waiting != nil && g.waiting.Len() > 0 }

// in visits the definitions of a group by key, in the order of keys.
func (g groups) in(group string) iter.Seq2[string, *definition] {
	return func(yield func(string, *definition) bool) {
		g.members.Ascend(group+"/", func(at string, d *definition) bool {
			key, ok := strings.CutPrefix(at, group+"/")
			return ok && yield(key, d)
		})
	}
}

// taken are the names in use by the types of a group.
type taken struct{ resources, kinds map[string]bool }

// takenIn gathers the accepted names of other definitions of a group, as some decisions
// have them.
func (g groups) takenIn(group, but string, decisions map[string]*decision) taken {
	t := taken{map[string]bool{}, map[string]bool{}}
	for key, d := range g.in(group) {
		if key == but {
			continue
		}
		if one := decisions[key]; one != nil {
			d = one.now
		}
		t.resources[d.names.plural], t.resources[d.names.singular] = true, true
		for _, short := range d.names.shortNames {
			t.resources[short] = true
		}
		t.kinds[d.names.kind], t.kinds[d.names.listKind] = true, true
	}
	return t
}
