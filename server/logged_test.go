package server_test

import (
	"bufio"
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/logging"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// TestNobodyFillsTheLog: a request with long parts has short lines in the log, at the
// most verbose level.
func TestNobodyFillsTheLog(t *testing.T) {
	log := &lines{}
	logger, err := logging.New(log, "text", slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	h := startServer(t, func(c *server.Config) { c.Logger = logger })
	long := strings.Repeat("x", 200<<10)
	for _, authorization := range []string{"Bearer " + adminToken, "Bearer wrong", ""} {
		h.send("GET", "/"+long, "", nil, "Authorization", authorization, "User-Agent", long)
		h.send("GET", configMaps+"/"+long+"?labelSelector="+long+"&token="+long, "", nil, "Authorization", authorization)
		h.send("POST", configMaps, "application/json", []byte(`{"metadata":{"name":"`+long+`"}}`), "Authorization", authorization)
		h.send("GET", "/healthz/"+long, "", nil, "Authorization", authorization)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	seen := 0
	for scanner := bufio.NewScanner(&log.text); scanner.Scan(); seen++ { // stops at a line of 64 KiB
		if n := len(scanner.Text()); n > 5<<10 {
			t.Errorf("a line of %d bytes: %.200s", n, scanner.Text())
		}
	}
	if seen < 12 || log.text.Len() > 0 {
		t.Errorf("%d lines were read, %d bytes are left", seen, log.text.Len())
	}
}

// TestVerbosityChanges: a PUT of a number changes the level of the log, for administrators.
func TestVerbosityChanges(t *testing.T) {
	log, level := &lines{}, new(slog.LevelVar)
	logger, err := logging.New(log, "text", level)
	if err != nil {
		t.Fatal(err)
	}
	h := startServer(t, func(c *server.Config) { c.Logger, c.LogLevel = logger, level })
	const path = "/debug/flags/v"
	h.run(t, []step{
		{"the list", "GET", "/debug/flags/", "", "", 200, path},
		{"no number", "PUT", path, "", "much", 400, `failed set klog.logging.verbosity much: strconv.ParseInt: parsing "much": invalid syntax`},
		{"another method", "GET", path, "", "", 406, "unsupported http method"},
		{"another flag", "PUT", "/debug/flags/x", "", "4", 404, "404 page not found"},
		{"a number", "PUT", path, "", "4", 200, "successfully set klog.logging.verbosity to 4"},
	})
	logs := func(word string) bool {
		h.send("GET", "/version", "", nil, "Impersonate-User", word)
		log.mu.Lock()
		defer log.mu.Unlock()
		return strings.Contains(log.text.String(), word)
	}
	if level.Level() != slog.LevelDebug || !logs("first") {
		t.Error("the acts of one user as another are not logged")
	}
	if r := h.send("PUT", path, "", []byte("0"), "Authorization", "Bearer bob-token"); r.code != 403 {
		t.Errorf("bob got %d", r.code)
	}
	h.send("PUT", path, "", []byte("2")).expect(t, 200, "")
	if level.Level() != slog.LevelInfo || logs("second") {
		t.Error("the acts of one user as another are logged")
	}
	startServer(t, nil).get(path).expect(t, 404, "")
}
