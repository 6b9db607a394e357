package server_test

import (
	"bufio"
	"bytes"
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
	logger, err := logging.New(log, "text", "debug")
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
