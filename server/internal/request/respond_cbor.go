package request

import (
	"context"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// sendCBOR answers with the CBOR of an object given as canonical JSON.
func (env *Env) sendCBOR(r *Request, code int, kind BodyKind, body []byte) error {
	buf := env.objects.get()
	object, err := kind.Schema.CBOR().Append(append(*buf, codec.CBORTag...), kind.Type, body)
	*buf = object
	if err == nil {
		err = r.Send(code, codec.CBORMedia, object)
	}
	if err == nil {
		env.objects.free(buf) // after a failure HTTP/2 may still be sending it
	}
	return err
}

// AppendCBORItem appends an entry as an item of a list, in the version of the row. Items of
// built-in kinds do not repeat their kind.
func (env *Env) AppendCBORItem(ctx context.Context, dst []byte, res *catalog.Row, e *store.Entry) ([]byte, error) {
	body, err := stored.Served(ctx, res.Resource, e.Body)
	if err != nil {
		return dst, err
	}
	if res.Definition != nil {
		return res.Schema.CBOR().Append(dst, res.Type, body)
	}
	return res.Schema.CBOR().AppendRest(dst, res.Type, body, len(codec.ItemPrefix(res.GV.APIVersion(), res.Kind)))
}
