// Package extras has abilities that a server has besides its API, for its configuration:
// traces, logins by ID tokens, and profiles. They take 2 MB of a program.
package extras

import (
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/internal/otlp"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/parts"
)

// All are all of them. The built-in groups bring them along.
func All() parts.Extras { return all{} }

type all struct{}

// Traces implements parts.Extras.
func (all) Traces(file, instance string, figures tracing.Figures, log *slog.Logger, pauses tracing.Pauses) (parts.Spans, *tracing.Tracer, error) {
	config, err := otlp.Read(file)
	if err != nil {
		return nil, nil, err
	}
	sender := otlp.Open(config, instance, figures, log, pauses)
	return sender, sender.Tracer, nil
}

// IDTokens implements parts.Extras.
func (all) IDTokens(c openid.Config) (parts.IDTokens, error) { return openid.Open(c) }

// Profile implements parts.Extras.
func (all) Profile(name string) http.HandlerFunc {
	switch name {
	case "cmdline":
		return pprof.Cmdline
	case "profile":
		return pprof.Profile
	case "symbol":
		return pprof.Symbol
	case "trace":
		return pprof.Trace
	}
	return pprof.Index
}
