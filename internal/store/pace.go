package store

import (
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// paceEvery is the least time between two estimates.
const paceEvery = 100 * time.Millisecond

// pace reports how far a check has come: by the bytes that the sorted files have up to a key, as the tree
// estimates them.
type pace struct {
	db          *pebble.DB
	report      func(work, unit string, done, total int64)
	done, total int64
	last        time.Time
}

// checkPasses are the spaces that a check reads whole, in the order of its passes.
var checkPasses = []byte{logSpace, objectSpace, objectSpace, sampleSpace}

func newPace(e *Engine) *pace {
	p := &pace{db: e.db, report: e.cfg.Progress}
	for _, space := range checkPasses {
		p.total += p.bytes(space, []byte{space + 1})
	}
	return p
}

// bytes are those of a space before a key; 0 when they cannot be estimated.
func (p *pace) bytes(space byte, end []byte) int64 {
	n, err := p.db.EstimateDiskUsage([]byte{space}, end)
	if err != nil {
		return 0
	}
	return int64(n)
}

// at says that a pass over a space is at a key.
func (p *pace) at(space byte, key []byte) {
	if now := time.Now(); now.Sub(p.last) >= paceEvery {
		p.last = now
		p.report("checking", "bytes", p.done+p.bytes(space, key), p.total)
	}
}

// end says that a pass over a space is done.
func (p *pace) end(space byte) { p.done += p.bytes(space, []byte{space + 1}) }
