package registry

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// selectorMark is the key of an expression that stands for an empty selector in the version
// for which an empty selector means something else.
const selectorMark = "pdb." + profile.LabelDomain + "/deprecated-v1beta1-empty-selector-match"

// budgetForm is the form of pod disruption budgets in policy/v1beta1. An empty selector
// means no pod there, and every pod in policy/v1.
func budgetForm() *older {
	return &older{version: "v1beta1",
		encode: func(row *catalog.Row, text []byte) ([]byte, error) {
			doc, err := document.ReadStored(row.GV.Types(), row.Type, text)
			if err != nil {
				return nil, err
			}
			defer doc.Release()
			turnSelector(doc.Root(), "DoesNotExist", "Exists")
			return doc.Root().AppendJSON(nil), nil
		},
		decode: func(text []byte) ([]byte, error) {
			return edited(text, func(root document.Value) error {
				turnSelector(root, "Exists", "DoesNotExist")
				return nil
			})
		},
	}
}

// turnSelector replaces an empty selector with an expression that has an operator, and an
// expression that has the other operator with an empty selector.
func turnSelector(root document.Value, empty, marked string) {
	spec := root.Get("spec")
	selector := spec.Get("selector")
	expressions := selector.Get("matchExpressions")
	switch {
	case selector.Kind() != document.Object:
	case selector.Get("matchLabels").Len() > 0:
	case expressions.Len() == 0:
		e := selector.SetArray("matchExpressions").AppendObject()
		e.SetString("key", selectorMark)
		e.SetString("operator", empty)
	case expressions.Len() == 1:
		e := expressions.Index(0)
		if e.Get("key").Equals(selectorMark) && e.Get("operator").Equals(marked) && e.Get("values").Len() == 0 {
			spec.SetObject("selector").Remove("matchExpressions")
		}
	}
}
