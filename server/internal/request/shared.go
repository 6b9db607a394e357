package request

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// CatchUp has the server learn of all writes that other servers have acknowledged before the request
// began: rights that were taken away by then do not count. Later reads of the request need not ask
// again. It reports whether the server has learned of something; of requests for other things than
// resources it has not. Errors: 503.
func (env *Env) CatchUp(r *Request) (bool, error) {
	if t := &r.Target; env.cfg.Newest == nil || t.Row == nil && t.Remote == nil && t.Unserved.Resource == "" {
		return false, nil
	}
	if err := env.cfg.Newest(r.Context, r.Target.Row); err != nil {
		env.RecordRefused(r)
		env.log.Debug("a request is refused, since this server may lack what others have written", "error", err)
		return false, &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, RetryAfter: 1,
			Message: "the server cannot find out what other servers have written; please try again, or another server"}
	}
	r.Context = store.Stale(r.Context)
	return true, nil
}
