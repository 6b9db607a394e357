package bootstrap

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// mandatory names the flow schemas and priority levels that a server cannot do
// without, and which are therefore never anybody's to keep as they are.
func mandatory(name document.Value) bool { return name.Equals("exempt") || name.Equals("catch-all") }

// ReconcileSpec gives current, a flow schema or priority level that exists, the spec
// of want, unless the annotation named autoupdate has the value "false". One without
// the annotation gets it: it is somebody's own when its spec was changed before.
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
	if auto && !document.Equal(current.Get("spec"), want.Get("spec")) {
		current.Put("spec", want.Get("spec"))
		verdict = Update
	}
	return verdict
}
