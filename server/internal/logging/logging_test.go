package logging

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/authn"
)

func TestLoggerRedacts(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log, err := New(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("hello",
			"authorization", "Bearer hidden", "bearerToken", "hidden", slog.Group("secret", "value", "hidden"), "Password", []string{"hidden"},
			"header", http.Header{"Authorization": {"Bearer hidden"}, "Cookie": {"hidden"}, "Sec-Websocket-Protocol": {"hidden"}, "Accept": {"shown-1"}},
			"user", "shown-2", "tokens", 33)
		log.With("token", "hidden").WithGroup("g").Info("again", "client_secret", "hidden")
		log.Debug("too much")
		text := out.String()
		if strings.Contains(text, "hidden") || strings.Contains(text, "too much") {
			t.Errorf("%s: %s", format, text)
		}
		for _, want := range []string{"shown-1", "shown-2", "33", redacted} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing: %s", format, want, text)
			}
		}
	}
}

// TestLongValuesAreCut: clients cannot fill the log with long values.
func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("x€", 1<<18)
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log, err := New(&out, format, slog.LevelDebug)
		if err != nil {
			t.Fatal(err)
		}
		for name, write := range map[string]func(){
			"path":    func() { log.Info("hello", "path", "/"+long) },
			"message": func() { log.Info(long) },
			"error":   func() { log.Info("hello", "error", errors.New(long)) },
			"list":    func() { log.Info("hello", "flags", []string{"a", long}) },
			"group":   func() { log.Info("hello", slog.Group("g", "agent", long)) },
			"request": func() {
				r := httptest.NewRequest(http.MethodGet, "/"+long+"?labelSelector="+long, nil)
				r.Header.Set("User-Agent", long)
				Access(log)(r, &authn.User{Name: long}, 200, 0, 0)
			},
		} {
			out.Reset()
			write()
			if n := out.Len(); n < 1000 || n > 5000 || !strings.Contains(out.String(), " bytes more)") || !utf8.Valid(out.Bytes()) {
				t.Errorf("%s, %s: a line of %d bytes", format, name, n)
			}
		}
		out.Reset()
		log.Info("hello", TraceKey, strings.Repeat("x", 60_000), "short", strings.Repeat("y", longestLogged))
		if n := out.Len(); n < 61_000 || strings.Contains(out.String(), "bytes more") {
			t.Errorf("%s: what is not too long was cut: %d bytes", format, n)
		}
	}
}

func TestNewErrors(t *testing.T) {
	if _, err := New(nil, "xml", slog.LevelInfo); err == nil || !strings.Contains(err.Error(), "log format") {
		t.Error(err)
	}
	if _, err := Level("loud"); err == nil || !strings.Contains(err.Error(), "log level") {
		t.Error(err)
	}
}

func TestAccessLog(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	level.Set(slog.LevelDebug)
	log, err := New(&out, "text", level)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=1&access_token=hidden&command=hidden&labelSelector=a%3Db&flag&limit=", nil)
	r.Header.Set("User-Agent", "kubectl/v1.25")
	Access(log)(r, &authn.User{Name: "bob"}, 200, 12, 1500*time.Microsecond)
	const want = `level=DEBUG msg=request method=GET path="/api/v1/pods?watch=1&access_token=[redacted]&command=[redacted]&labelSelector=a%3Db&flag&limit" user=bob status=200 bytes=12 took=1.5ms agent=kubectl/v1.25` + "\n"
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out.Reset()
	Access(log)(httptest.NewRequest(http.MethodGet, "/x", nil), nil, 401, 0, 0)
	if !strings.Contains(out.String(), `path=/x user="" status=401`) {
		t.Error(out.String())
	}
	out.Reset()
	level.Set(slog.LevelInfo)
	Access(log)(r, nil, 200, 0, 0)
	if out.Len() > 0 {
		t.Errorf("lines are written that nobody wants: %s", &out)
	}
}
