package load

import (
	"path"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// A document with x-cluster-same-as has parts of another one, where its mistakes stand. So a mistake in such a part says
// which version has it, unless the version of the other document has it too.

// heir is a mistake in a part that a version has from the document of another one.
type heir struct {
	mistake *schema.Error
	dir     string
}

// of runs a step for the documents of a version.
func (d *documents) of(dir string, step func()) {
	before := len(d.errs)
	step()
	for _, e := range d.errs[before:] {
		if at, ok := strings.CutPrefix(path.Dir(e.Pos.File), "schemas/"); ok && at != dir {
			d.heirs = append(d.heirs, heir{e, dir})
		}
	}
}

// err joins the mistakes.
func (d *documents) err() error {
	inherited := map[*schema.Error]bool{}
	for _, h := range d.heirs {
		inherited[h.mistake] = true
	}
	own := map[string]bool{}
	for _, e := range d.errs {
		if !inherited[e] {
			own[e.Error()] = true
		}
	}
	for _, h := range d.heirs {
		if !own[h.mistake.Error()] {
			h.mistake.What += ", in " + h.dir + " by " + sameAsKey
		}
	}
	d.heirs = nil
	return d.reader.err()
}
