package bootstrap

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// mandatory reports whether a flow schema or priority level is indispensable: users
// cannot keep their own form of it.
func mandatory(name document.Value) bool { return name.Equals("exempt") || name.Equals("catch-all") }

// ReconcileSpec gives current, an existing flow schema or priority level, the spec of
// want, unless the annotation named autoupdate has the value "false". An object without
// the annotation gets it: "false" if its spec was changed before.
func ReconcileSpec(current, want document.Value, autoupdate string) Verdict {
	meta := current.Get("metadata")
	said := meta.At("annotations", autoupdate)
	generation, _ := meta.Get("generation").Int()
	auto := mandatory(meta.Get("name")) || said.Equals("true") || !said.Exists() && generation == 1
	verdict := Keep
	if text := strconv.FormatBool(auto); !said.Equals(text) {
		meta.SetObject("annotations").SetString(autoupdate, text)
		verdict = Update
	}
	same := document.Equal(current.Get("spec"), want.Get("spec")) ||
		current.At("spec", "type").Equals("Exempt") && want.At("spec", "type").Equals("Exempt") // the rest of it is its users' choice
	if auto && !same {
		current.Put("spec", want.Get("spec"))
		verdict = Update
	}
	return verdict
}
