package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// BenchmarkFrame shows the cost of the frame for a request below /api: echo's context and
// route with eleven stages as middleware, and beside them the same stages called in a loop.
func BenchmarkFrame(b *testing.B) {
	const stages = 11
	nothing := func(*exchange) error { return nil }
	e, run := echo.New(), echo.HandlerFunc(func(echo.Context) error { return nil })
	for range stages {
		run = step(nothing)(run)
	}
	for _, path := range []string{"/", "/api", "/api/*", "/apis", "/apis/*", "/*", "/metrics", "/version", "/openapi/v2", "/openapi/v3", "/openapi/*",
		"/healthz", "/healthz/*", "/livez", "/livez/*", "/readyz", "/readyz/*", "/debug/*"} {
		e.GET(path, run)
	}
	q, w := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/p1", nil), httptest.NewRecorder()
	b.Run("echo", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			c := e.AcquireContext()
			c.Reset(q, w)
			e.Router().Find(http.MethodGet, q.URL.Path, c)
			x := &exchange{Context: c}
			if err := c.Handler()(x); err != nil {
				b.Fatal(err)
			}
			x.Context = nil
			e.ReleaseContext(c)
		}
	})
	all := make([]func(*exchange) error, stages)
	for i := range all {
		all[i] = nothing
	}
	b.Run("loop", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			x := &exchange{}
			for _, do := range all {
				if err := do(x); err != nil {
					b.Fatal(err)
				}
			}
			sink = x
		}
	})
}

// sink keeps the exchange of a round on the heap, as requests do.
var sink *exchange
