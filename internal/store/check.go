package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// checker looks for violations of the layout in a snapshot. See Check.
type checker struct {
	ctx     context.Context
	from    *pebble.Snapshot
	opener  opener
	report  func(problem string)
	current uint64 // later revisions are in flight and not checked
	oldest  uint64
	swept   uint64
	gaps    bool             // of a replica, whose source counts other changes too
	logs    *pebble.Iterator // over the log, for versions
	pace    *pace
}

// Check reads the whole store and reports every violation of the layout's
// invariants, one line each, as it finds them:
//
//	C1. Every key in the tree decodes, and every value.
//	C2. The log has a record for every revision after swept, up to Current; that of a
//	    replica may lack some.
//	C3. Every log record names a version that exists, and as the state before
//	    it the version just before, or none if that is a tombstone.
//	C4. Every version after swept has its log record.
//	C5. Of the versions up to swept a key has one at most, and no tombstone.
//	C6. swept <= oldest <= Current, and samples rise in time and revision.
//	C7. Every version has its header, and there are no other headers.
//
// It may run while the store is in use. The error is ctx's, ErrClosed or one of reading;
// a violation is not an error.
func (e *Engine) Check(ctx context.Context, report func(problem string)) error {
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	c := &checker{ctx: ctx, opener: opener{cipher: e.cfg.Cipher, blind: e.cfg.Cipher == nil}, report: report, current: e.Current(), gaps: e.cfg.Replica,
		pace: newPace(e)}
	c.from = e.db.NewSnapshot()
	defer func() { _ = c.from.Close() }()
	for _, step := range []func() error{c.settings, c.log, c.versions, c.headers, c.samples} {
		err := step()
		if pebble.ExtractDataCorruptionInfo(err) != nil {
			c.reportf("%v; what follows in it was not looked at", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reportf reports a problem in one line.
func (c *checker) reportf(format string, args ...any) {
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = plain(err)
		}
	}
	c.report(fmt.Sprintf(format, args...))
}

func (c *checker) settings() (err error) {
	if c.oldest, err = readRevisionSetting(c.from, metaOldest); err != nil {
		return err
	}
	if c.swept, err = readRevisionSetting(c.from, metaSwept); err != nil {
		return err
	}
	if c.swept > c.oldest {
		c.reportf("history is deleted up to %d but refused only before %d", c.swept, c.oldest)
	}
	// Trimming may have gone past the revision that was current a moment ago.
	c.current = max(c.current, c.oldest)
	return nil
}

// each visits the keys of a space.
func (c *checker) each(space byte, visit func(it *pebble.Iterator) error) error {
	it, err := c.from.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
	if err != nil {
		return err
	}
	n := 0
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		if n++; n%checkEvery == 0 {
			err = c.ctx.Err()
			c.pace.at(space, it.Key())
		}
		if err == nil {
			err = visit(it)
		}
	}
	c.pace.end(space)
	return errors.Join(err, it.Error(), it.Close())
}

func (c *checker) log() error {
	next, last := c.swept+1, uint64(0)
	err := c.each(logSpace, func(it *pebble.Iterator) error {
		revision, record, err := readRecord(it)
		if err != nil {
			c.reportf("%v", err)
			return nil
		}
		if revision > c.current {
			return nil
		}
		switch {
		case revision == last: // another change at the same revision
		case revision < next:
			c.reportf("the log still has revision %d, which is trimmed", revision)
			return nil
		case revision > next && !c.gaps:
			c.reportf("the log misses the revisions from %d to %d", next, revision-1)
		}
		next, last = revision+1, revision
		if record.prev >= revision {
			c.reportf("revision %d names a later one, %d, as the state before", revision, record.prev)
		}
		if _, err := readChange(c.opener, c.from, revision, record); err != nil {
			c.reportf("%v", err)
		}
		return nil
	})
	if err == nil && next <= c.current && !c.gaps {
		c.reportf("the log misses the revisions from %d to %d", next, c.current)
	}
	return err
}

func (c *checker) versions() (err error) {
	if c.logs, err = c.from.NewIter(&pebble.IterOptions{LowerBound: []byte{logSpace}, UpperBound: []byte{logSpace + 1}}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.logs.Close()) }()
	var newer version // of the same key, visited before; revision 0 for none
	var key []byte
	closeKey := func(older version) {
		// newer is the version just after older (or the key's first one).
		if newer.revision > c.swept {
			c.checkRecord(newer, older)
		}
	}
	err = c.each(objectSpace, func(it *pebble.Iterator) error {
		v, err := parseVersion(it.Key())
		if err != nil {
			c.reportf("%v", err)
			return nil
		}
		stored, err := it.ValueAndErr()
		if err == nil && !v.tombstone { // which the pass over the log has read
			_, _, err = c.opener.value(string(v.key), v.revision, stored)
		}
		if err != nil {
			c.reportf("%q at %d: %v", v.key, v.revision, err)
		}
		if v.revision > c.current {
			return nil
		}
		if newer.revision != 0 && string(key) == string(v.key) {
			closeKey(v)
			if newer.revision <= c.swept {
				c.reportf("%q still has revision %d, which %d replaced and trimming deletes", v.key, v.revision, newer.revision)
			}
		} else {
			closeKey(version{})
			key = append(key[:0], v.key...)
		}
		if v.tombstone && v.revision <= c.swept {
			c.reportf("%q still has the tombstone of %d, which trimming deletes", v.key, v.revision)
		}
		newer = version{key: key, revision: v.revision, tombstone: v.tombstone}
		return nil
	})
	closeKey(version{})
	return err
}

// checkRecord compares a version and the one before it with the log.
func (c *checker) checkRecord(v, older version) {
	record, err := c.recordOf(v)
	if err != nil {
		c.reportf("%q at %d has no log record: %v", v.key, v.revision, err)
		return
	}
	if record.key == nil {
		return // the pass over the log has reported it
	}
	prev := older.revision
	if older.tombstone {
		prev = 0
	}
	switch {
	case string(record.key) != string(v.key):
		c.reportf("%q at %d: the log says that this revision is of %q", v.key, v.revision, record.key)
	case (record.op == OpDelete) != v.tombstone:
		c.reportf("%q at %d: the log says operation %d, the key tombstone %v", v.key, v.revision, record.op, v.tombstone)
	case record.prev != prev:
		c.reportf("%q at %d: the log says that the state before is of %d, found %d", v.key, v.revision, record.prev, prev)
	}
}

// recordOf finds the log record of a version: of several at its revision the one with its key,
// else the first. Its key is nil if the record cannot be read.
func (c *checker) recordOf(v version) (found logRecord, err error) {
	err = pebble.ErrNotFound
	for valid := c.logs.SeekGE(appendLog(nil, v.revision)); valid; valid = c.logs.Next() {
		if revision, broken := parseLog(c.logs.Key()); broken != nil || revision != v.revision {
			break
		}
		err = nil
		if _, record, broken := readRecord(c.logs); broken == nil && (found.key == nil || string(record.key) == string(v.key)) {
			found = record
			found.key = bytes.Clone(record.key)
		}
	}
	return found, cmp.Or(c.logs.Error(), err)
}

// headers compares the header space with the object space.
func (c *checker) headers() (err error) {
	headers, err := c.from.NewIter(&pebble.IterOptions{LowerBound: []byte{headerSpace}, UpperBound: []byte{headerSpace + 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, headers.Error(), headers.Close()) }()
	valid := headers.First()
	err = c.each(objectSpace, func(it *pebble.Iterator) error {
		for ; valid && bytes.Compare(headers.Key()[1:], it.Key()[1:]) < 0; valid = headers.Next() {
			c.reportf("the header %q has no version", headers.Key())
		}
		if !valid || !bytes.Equal(headers.Key()[1:], it.Key()[1:]) {
			c.reportf("the version %q has no header", it.Key())
			return nil
		}
		header, err := headers.ValueAndErr()
		if err != nil {
			return err
		}
		stored, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		c.compareHeader(it.Key(), stored, header)
		valid = headers.Next()
		return nil
	})
	for ; valid && err == nil; valid = headers.Next() {
		c.reportf("the header %q has no version", headers.Key())
	}
	return err
}

// compareHeader compares the header of a version with its copy.
func (c *checker) compareHeader(at, stored, header []byte) {
	v, err := parseVersion(at)
	if err != nil {
		return // reported by versions
	}
	value, _, err := c.opener.value(string(v.key), v.revision, stored)
	if err != nil {
		return // reported by versions, or a short record
	}
	plain, _, err := c.opener.open(headerSpace, string(v.key), v.revision, header)
	if err != nil {
		c.reportf("%v", err)
	} else if !bytes.Equal(value.Meta, plain) {
		c.reportf("the version %q has another header on its own", at)
	}
}

func (c *checker) samples() error {
	var last sample
	return c.each(sampleSpace, func(it *pebble.Iterator) error {
		s, err := readSample(it)
		if err != nil {
			c.reportf("%v", err)
			return nil
		}
		if s.nanoseconds <= last.nanoseconds || s.revision <= last.revision {
			c.reportf("the sample %+v follows %+v", s, last)
		}
		last = s
		return nil
	})
}
