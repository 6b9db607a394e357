package endpoints_test

import (
	"bufio"
	"log/slog"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/logging"
)

// TestNobodyFillsTheLog: a request with long parts has short lines in the log, at the
// most verbose level.
func TestNobodyFillsTheLog(t *testing.T) {
	log := &harness.Lines{}
	logger, err := logging.New(log, "text", slog.LevelDebug)
	if err != nil {
		t.Fatal(err)
	}
	h := harness.Start(t, func(c *server.Config) { c.Logger = logger })
	long := strings.Repeat("x", 200<<10)
	for _, authorization := range []string{"Bearer " + harness.AdminToken, "Bearer wrong", ""} {
		h.Send("GET", "/"+long, "", nil, "Authorization", authorization, "User-Agent", long)
		h.Send("GET", harness.ConfigMaps+"/"+long+"?labelSelector="+long+"&token="+long, "", nil, "Authorization", authorization)
		h.Send("POST", harness.ConfigMaps, "application/json", []byte(`{"metadata":{"name":"`+long+`"}}`), "Authorization", authorization)
		h.Send("GET", "/healthz/"+long, "", nil, "Authorization", authorization)
	}
	log.Mu.Lock()
	defer log.Mu.Unlock()
	seen := 0
	for scanner := bufio.NewScanner(&log.Text); scanner.Scan(); seen++ { // stops at a line of 64 KiB
		if n := len(scanner.Text()); n > 5<<10 {
			t.Errorf("a line of %d bytes: %.200s", n, scanner.Text())
		}
	}
	if seen < 12 || log.Text.Len() > 0 {
		t.Errorf("%d lines were read, %d bytes are left", seen, log.Text.Len())
	}
}

// TestVerbosityChanges: a PUT of a number changes the level of the log, for administrators.
func TestVerbosityChanges(t *testing.T) {
	log, level := &harness.Lines{}, new(slog.LevelVar)
	logger, err := logging.New(log, "text", level)
	if err != nil {
		t.Fatal(err)
	}
	h := harness.Start(t, func(c *server.Config) { c.Logger, c.LogLevel = logger, level })
	const path = "/debug/flags/v"
	h.Run(t, []harness.Step{
		{"the list", "GET", "/debug/flags/", "", "", 200, path},
		{"no number", "PUT", path, "", "much", 400, `failed set klog.logging.verbosity much: strconv.ParseInt: parsing "much": invalid syntax`},
		{"another method", "GET", path, "", "", 406, "unsupported http method"},
		{"another flag", "PUT", "/debug/flags/x", "", "4", 404, "404 page not found"},
		{"a number", "PUT", path, "", "4", 200, "successfully set klog.logging.verbosity to 4"},
	})
	logs := func(word string) bool {
		h.Send("GET", "/version", "", nil, "Impersonate-User", word)
		log.Mu.Lock()
		defer log.Mu.Unlock()
		return strings.Contains(log.Text.String(), word)
	}
	if level.Level() != slog.LevelDebug || !logs("first") {
		t.Error("the acts of one user as another are not logged")
	}
	if r := h.Send("PUT", path, "", []byte("0"), "Authorization", "Bearer bob-token"); r.Code != 403 {
		t.Errorf("bob got %d", r.Code)
	}
	h.Send("PUT", path, "", []byte("2")).Expect(t, 200, "")
	if level.Level() != slog.LevelInfo || logs("second") {
		t.Error("the acts of one user as another are logged")
	}
	harness.Start(t, nil).Get(path).Expect(t, 404, "")
}
