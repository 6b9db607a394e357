package flowcontrol

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/fairness"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
)

// object is a flow schema or a priority level in memory.
type object struct {
	schema *schema
	level  *level
}

// schema is a flow schema.
type schema struct {
	name, uid, level string
	precedence       int64
	distinguisher    string // "ByUser", "ByNamespace" or ""
	rules            []rule
}

// level is a priority level.
type level struct {
	name, uid string
	rules     fairness.Rules
	share     fairness.Share
	tallies   *tallies
}

// maxSeats is the greatest width that a request at the level is estimated at.
func (l *level) maxSeats() int {
	if l.rules.Queues == 0 {
		return mostSeats
	}
	nominal := l.share.Nominal
	return min(max(1, min(int(math.Ceil(float64(nominal)*0.15)), nominal/max(l.rules.Hand, 1))), mostSeats)
}

// tallies are those of a level's schemas, by name.
type tallies struct {
	mu  ranks.Mutex[ranks.Inner]
	all map[string]*fairness.Tally
}

func (t *tallies) of(schema string) *fairness.Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*fairness.Tally{}
	}
	if t.all[schema] == nil {
		t.all[schema] = fairness.NewTally()
	}
	return t.all[schema]
}

// keep drops the tallies of schemas that do not exist any more.
func (t *tallies) keep(classes []*Class) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.all {
		if !slices.ContainsFunc(classes, func(c *Class) bool { return c.schema.name == name && c.level.tallies == t }) {
			delete(t.all, name)
		}
	}
}

// mandatoryLevels and mandatorySchemas are the objects without which no request could be
// classified, for the time in which they do not exist.
func mandatoryLevels() []*object {
	return []*object{
		{level: &level{name: "exempt", rules: fairness.Rules{Exempt: true}, share: fairness.Share{Exempt: true}}},
		{level: &level{name: catchAll, share: fairness.Share{Shares: 5}}},
	}
}

func mandatorySchemas() []*object {
	return []*object{
		{schema: &schema{name: "exempt", level: "exempt", precedence: 1, rules: everything("system:masters")}},
		{schema: &schema{name: catchAll, level: catchAll, precedence: lastPrecedence, distinguisher: byUser,
			rules: everything("system:unauthenticated", "system:authenticated")}},
	}
}

const (
	catchAll       = "catch-all"
	lastPrecedence = 10000
	byUser         = "ByUser"
)

// classes are the classes of schemas whose level exists, in the order in which they are
// tried. Later schemas replace earlier ones of their names.
func classes(objects []*object, levels map[string]*level) []*Class {
	byName := map[string]*schema{}
	for _, o := range objects {
		if o.schema != nil {
			byName[o.schema.name] = o.schema
		}
	}
	var all []*Class
	for _, s := range byName {
		if l := levels[s.level]; l != nil {
			all = append(all, newClass(s, l))
		}
	}
	slices.SortFunc(all, func(a, b *Class) int {
		return cmp.Or(cmp.Compare(a.schema.precedence, b.schema.precedence), strings.Compare(a.schema.name, b.schema.name))
	})
	last := slices.IndexFunc(all, func(c *Class) bool { return c.schema.name == catchAll })
	fallback := all[last] // of requests that match none
	return append(slices.Delete(all, last, last+1), fallback)
}

// readSchema reads a stored flow schema.
func readSchema(obj document.Value) *object {
	meta, spec := obj.Get("metadata"), obj.Get("spec")
	s := &schema{name: clone(meta.Get("name")), uid: clone(meta.Get("uid")), level: clone(spec.At("priorityLevelConfiguration", "name")),
		distinguisher: clone(spec.At("distinguisherMethod", "type"))}
	s.precedence, _ = spec.Get("matchingPrecedence").Int()
	for _, v := range spec.Get("rules").Elements() {
		s.rules = append(s.rules, readRule(v))
	}
	return &object{schema: s}
}

// readLevel reads a stored priority level.
func readLevel(obj document.Value) *object {
	meta, spec := obj.Get("metadata"), obj.Get("spec")
	l := &level{name: clone(meta.Get("name")), uid: clone(meta.Get("uid"))}
	part, shares := spec.Get("limited"), "assuredConcurrencyShares"
	if spec.Get("type").Equals("Exempt") {
		part, shares = spec.Get("exempt"), "nominalConcurrencyShares"
		l.rules.Exempt, l.share.Exempt = true, true
	}
	l.share.Shares, l.share.Lendable = number(part.Get(shares)), number(part.Get("lendablePercent"))
	if conversion.WithoutShares(obj) {
		l.share.Shares = 0
	}
	if v := part.Get("borrowingLimitPercent"); v.Exists() {
		n := number(v)
		l.share.Borrowing = &n
	}
	if q := part.At("limitResponse", "queuing"); part.At("limitResponse", "type").Equals("Queue") {
		l.rules.Queues, l.rules.Hand, l.rules.Length = number(q.Get("queues")), number(q.Get("handSize")), number(q.Get("queueLengthLimit"))
	}
	return &object{level: l}
}

func number(v document.Value) int {
	n, _ := v.Int()
	return int(n)
}

func clone(v document.Value) string { return strings.Clone(v.Text()) }

// each visits all tallies.
func (t *tallies) each(visit func(schema string, tally *fairness.Tally)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for schema, tally := range t.all {
		visit(schema, tally)
	}
}
