package verbs

import (
	"bytes"
	"errors"

	"github.com/capstan-dev/capstan/server/internal/request"
)

// recordList reads a list for the audit events, if they show it. They say so if there is
// no room for it.
func (v *Verbs) recordList(r *request.Request, l *list) error {
	if !r.RecordsAnswer() {
		return nil
	}
	held := v.gather.Open()
	defer func() { held.Release(true) }()
	buf := held.Buffer()
	rest, err := v.writeList(r, l, gathering{held}, *buf)
	switch {
	case errors.Is(err, errNoRoom):
		v.env.RecordAnswer(r, nil)
	case err != nil:
		return err
	default:
		v.env.RecordAnswer(r, whole(held, bytes.TrimSuffix(rest, request.Newline)))
	}
	return nil
}

// gathering is an io.Writer into the room of gathered answers.
type gathering struct{ held *request.Gathered }

var errNoRoom = errors.New("there is no room to gather the answer")

// Write implements io.Writer.
func (g gathering) Write(p []byte) (int, error) {
	part := g.held.Buffer()
	*part = append(*part, p...)
	if !g.held.Keep(part) {
		return 0, errNoRoom
	}
	return len(p), nil
}
