package objects

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// ApplyOwn applies a configuration of the server's own to an existing object of a built-in kind, and takes over the
// fields that others own. Errors: 404, and those of a Write.
func (o *Objects) ApplyOwn(ctx context.Context, of Ref, opts Options, config []byte) error {
	applied, err := document.DecodeAny(config, o.decodeLimits)
	if err != nil {
		return err
	}
	defer applied.Release()
	opts.Applied, opts.Patched = true, true
	kind, as := of.Row.Ownership().For(ctx), o.FieldWrite(of, opts)
	_, err = o.Write(ctx, &Write{Ref: of, Opts: opts, Change: func(e *Evaluation) (none document.Value, _ error) {
		if e.Shown == nil {
			return none, api.NotFound(of.Row.GroupResource(), of.Name)
		}
		text, err := kind.Apply(e.Was, applied.Root(), as, true)
		if err != nil {
			return none, err
		}
		doc, err := o.DecodeOwn(of.Row, text)
		if err != nil {
			return none, err
		}
		return e.Keep(doc), nil
	}})
	return err
}
