package request

import (
	"context"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// respondRendering answers with the binary form of an entry whose JSON in the version of
// the request is body.
func (env *Env) respondRendering(r *Request, code int, e *store.Entry, body []byte) error {
	env.RecordAnswer(r, body)
	res := r.Target.Row
	if object := env.renderings.get(res.Resource, binaryForm, e); object != nil {
		return r.Send(code, r.Accept.ContentType(), object)
	}
	return env.sendBinary(r, code, KindOf(res), body, func(object []byte) {
		env.Measured(res, e, len(codec.Message(object)))
		env.renderings.keep(res.Resource, binaryForm, e, object)
	})
}

// AppendMessage appends the message of an entry, in the version of the row.
func (env *Env) AppendMessage(ctx context.Context, dst []byte, res *catalog.Row, e *store.Entry) ([]byte, error) {
	if object := env.renderings.get(res.Resource, binaryForm, e); object != nil {
		return append(dst, codec.Message(object)...), nil
	}
	body, err := stored.Served(ctx, res.Resource, e.Body)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst, err = res.Schema.Binary().Append(dst, res.Type, body)
	if err == nil {
		message := dst[start:]
		env.Measured(res, e, len(message))
		env.renderings.keep(res.Resource, binaryForm, e, codec.EnvelopeHead(res.GV.APIVersion(), res.Kind, len(message)), message, codec.EnvelopeTail())
	}
	return dst, err
}

// Measured notes the size of the message of an entry, so that the size of a list with it
// is known before it is read.
func (env *Env) Measured(res *catalog.Row, e *store.Entry, size int) {
	if e.Revision > 0 && res.Resource == res.Resource.Storage() {
		env.renderings.measured(e, size)
	}
}

// Measure is the size of the message of an entry, whose body is not needed, if it has been
// made lately.
func (env *Env) Measure(res *catalog.Row, e *store.Entry) (size int, known bool) {
	if res.Resource != res.Resource.Storage() {
		return 0, false
	}
	return env.renderings.measure(e)
}

// sendBinary answers with the binary form of an object given as canonical JSON; made gets
// the answer, to copy it.
func (env *Env) sendBinary(r *Request, code int, kind BodyKind, body []byte, made func(object []byte)) error {
	buf := env.objects.get()
	object, grown, err := codec.Sealed(*buf, kind.APIVersion, kind.Kind, func(dst []byte) ([]byte, error) {
		return kind.Schema.Binary().Append(dst, kind.Type, body)
	})
	*buf = grown
	if err == nil {
		made(object)
		err = r.Send(code, r.Accept.ContentType(), object)
	}
	if err == nil {
		env.objects.free(buf) // after a failure HTTP/2 may still be sending it
	}
	return err
}
