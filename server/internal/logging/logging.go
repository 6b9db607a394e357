// Package logging makes logs without secrets and without long texts of clients.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/authn"
)

// redacted stands in for a secret in the log.
const redacted = "[redacted]"

// The bounds for the bytes of one value in the log; paths, names and errors may hold text
// of a client. Stack traces are the server's own and long.
const (
	longestLogged = 1 << 10
	longestTrace  = 64 << 10
	// TraceKey is the key of a trace.
	TraceKey = "stack"
)

// Level reads a level: "debug", "info", "warn" or "error".
func Level(text string) (l slog.Level, err error) {
	if err := l.UnmarshalText([]byte(text)); err != nil {
		return l, fmt.Errorf("log level: %q is unknown; use debug, info, warn or error", text)
	}
	return l, nil
}

// New returns a logger that writes lines of a level and above to w. The format is "text"
// or "json". Attributes whose key looks like a secret's are replaced, and long values are
// cut.
func New(w io.Writer, format string, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr { return cut(redact(groups, a)) }}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, fmt.Errorf("log format: %q is unknown; use text or json", format)
}

// redact is a slog ReplaceAttr function. Numbers, booleans and times are kept under any
// key, since they are counts and dates of secrets and not secrets.
func redact(groups []string, a slog.Attr) slog.Attr {
	secret := secretKey(a.Key)
	for _, g := range groups {
		secret = secret || secretKey(g)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		if secret {
			a.Value = slog.StringValue(redacted)
		}
	case slog.KindAny:
		if secret {
			a.Value = slog.StringValue(redacted)
		} else if h, ok := a.Value.Any().(http.Header); ok {
			a.Value = slog.AnyValue(redactHeader(h))
		}
	}
	return a
}

// cut shortens a long value, with the number of missing bytes.
func cut(a slog.Attr) slog.Attr {
	most := longestLogged
	if a.Key == TraceKey {
		most = longestTrace
	}
	switch a.Value.Kind() {
	case slog.KindString:
		if text := a.Value.String(); len(text) > most {
			a.Value = slog.StringValue(cutText(text, most))
		}
	case slog.KindAny:
		var text string
		switch v := a.Value.Any().(type) {
		case nil, *slog.Source:
			return a
		case error:
			text = v.Error()
		default:
			text = fmt.Sprint(v)
		}
		if len(text) > most {
			a.Value = slog.StringValue(cutText(text, most))
		}
	}
	return a
}

// cutText is the beginning of a text, whole characters of at most so many bytes, and the
// number of missing bytes.
func cutText(text string, most int) string {
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return fmt.Sprintf("%s…(%d bytes more)", text[:most], len(text)-most)
}

// secretKey reports whether a value under this key is likely to be a secret.
func secretKey(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"authorization", "token", "password", "secret", "cookie", "privatekey", "private_key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

func redactHeader(h http.Header) http.Header {
	c := make(http.Header, len(h))
	for name, values := range h {
		if secretKey(name) || strings.EqualFold(name, "Sec-WebSocket-Protocol") { // carries bearer tokens of browsers
			values = []string{redacted}
		}
		c[name] = values
	}
	return c
}

// Access returns the function that writes one line for an answered request, at debug; the
// level of the logger may change.
func Access(log *slog.Logger) func(r *http.Request, user *authn.User, status int, bytes int64, took time.Duration) {
	return func(r *http.Request, user *authn.User, status int, bytes int64, took time.Duration) {
		if !log.Enabled(context.Background(), slog.LevelDebug) {
			return
		}
		name := ""
		if user != nil {
			name = user.Name
		}
		log.LogAttrs(r.Context(), slog.LevelDebug, "request",
			slog.String("method", r.Method), slog.String("path", loggedPath(r.URL)), slog.String("user", name),
			slog.Int("status", status), slog.Int64("bytes", bytes), slog.Duration("took", took),
			slog.String("agent", r.UserAgent()))
	}
}

// loggedPath is the path and query of a request without possibly private values: the
// value of every parameter that is not one of the API's own is left out.
func loggedPath(u *url.URL) string {
	if u.RawQuery == "" {
		return u.Path
	}
	var b strings.Builder
	b.WriteString(u.Path)
	separator := byte('?')
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		b.WriteByte(separator)
		separator = '&'
		b.WriteString(name)
		if value != "" {
			b.WriteByte('=')
			if PublicParameter(name) {
				b.WriteString(value)
			} else {
				b.WriteString(redacted)
			}
		}
	}
	return b.String()
}

// PublicParameter reports whether a parameter of a query is one of the API's own, whose values are
// not secret.
func PublicParameter(name string) bool {
	switch name {
	case "allowWatchBookmarks", "dryRun", "exclude", "fieldManager", "fieldSelector", "fieldValidation", "follow", "force",
		"gracePeriodSeconds", "includeObject", "labelSelector", "limit", "limitBytes", "orphanDependents", "pretty", "previous",
		"propagationPolicy", "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "sinceSeconds", "tailLines",
		"timeout", "timeoutSeconds", "timestamps", "verbose", "watch":
		return true
	}
	return false
}
