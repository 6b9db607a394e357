package expression

import (
	"strconv"
	"sync"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// mistakes are the types of the expressions of rules: a message, "" for none; messages; or
// messages with more about each.
var mistakes = []*types.Type{types.StringType, types.NewListType(types.StringType), types.NewListType(types.NewMapType(types.StringType, types.StringType))}

// Finder evaluates the expressions of the rules of a table. They see an object, or an
// element of a list, as self, its state before an update as oldSelf, and the object that
// holds the list as parent.
type Finder struct {
	table   *schema.Table
	phrases sync.Map // of *schema.Demand to *phrase
}

// NewFinder is the finder for a table.
func NewFinder(t *schema.Table) *Finder { return &Finder{table: t} }

// Compile returns the mistake in the expression of a rule of a type.
func (f *Finder) Compile(of schema.Ref, d *schema.Demand) error { return f.phrase(of, d).ready() }

// Loops is how deep the loops of a compiled rule are in each other: it may take time by
// this power of the length of lists.
func (f *Finder) Loops(of schema.Ref, d *schema.Demand) int {
	return loops(f.phrase(of, d).program.checked.NativeRep().Expr())
}

func (f *Finder) phrase(of schema.Ref, d *schema.Demand) *phrase {
	p, ok := f.phrases.Load(d)
	if !ok {
		p, _ = f.phrases.LoadOrStore(d, &phrase{text: d.Finds, compile: func(text string) (*Program, error) {
			self, _ := f.table.Element(of, d.Each)
			return inTable(f.table, text, mistakes, []string{"self", "parent", "oldSelf"}, self, of, self)
		}})
	}
	return p.(*phrase)
}

// Find implements the function of document.Hooks. An expression that fails is a mistake of
// the object, which it may be: one that is too large.
func (f *Finder) Find(d *schema.Demand, v, of, old document.Value) (found []document.Finding) {
	_, typ := of.Type()
	result, err := f.phrase(typ, d).eval(v, of, old)
	if err != nil {
		return []document.Finding{{Cause: schema.CauseInternal, Why: err.Error()}}
	}
	if text, ok := result.(types.String); ok {
		if text == "" {
			return nil
		}
		return []document.Finding{{Why: string(text)}}
	}
	each(result, func(v Value) Value {
		finding := document.Finding{Why: TextOf(v)}
		if m, ok := v.(traits.Mapper); ok {
			text := func(name string) string {
				member, _ := m.Find(types.String(name))
				return TextOf(member)
			}
			finding = document.Finding{Why: text("why"), At: text("at"), Of: text("of"), Turn: text("turn"), Cause: schema.Reasons[text("cause")]}
			if shows, ok := m.Find(types.String("shows")); ok {
				finding.Shows = strconv.Quote(TextOf(shows))
			}
		}
		found = append(found, finding)
		return nil
	})
	return found
}
