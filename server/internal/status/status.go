// Package status reads the state of a running server from its endpoints, for one screen.
package status

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/capstan-dev/capstan/client"
)

// Status is the state of a server.
type Status struct {
	Server  string `json:"server"`
	Version string `json:"version,omitempty"`
	// Failing are the names of the health checks that fail; none for a ready server.
	Ready   bool     `json:"ready"`
	Failing []string `json:"failing,omitempty"`
	// Certificates are those of the server that can be seen from here, and that of the user.
	Certificates []Certificate `json:"certificates,omitempty"`
	Figures
	// Hidden names what the user may not read, with the missing right.
	Hidden []string `json:"hidden,omitempty"`
}

// Reader reads the status of one server again and again.
type Reader struct {
	rest *client.REST
	host string
	own  []Certificate // of the user
	pki  string
	last sample
}

// Dial makes the client of a kubeconfig, which tries each request once. It does not connect.
func Dial(kubeconfig string) (*client.REST, client.Config, error) {
	config, _, err := client.LoadKubeconfig(kubeconfig, "")
	if err != nil {
		return nil, config, err
	}
	config.Retries, config.UserAgent = -1, "capstan"
	rest, err := client.NewREST(config)
	if err != nil {
		return nil, config, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	return rest, config, nil
}

// Open makes a reader by a kubeconfig. It does not connect. pki is the directory of the server's certificates, which may
// be on another machine.
func Open(kubeconfig, pki string) (*Reader, error) {
	rest, config, err := Dial(kubeconfig)
	if err != nil {
		return nil, err
	}
	return &Reader{rest: rest, host: config.Host, pki: pki, own: ofClient(config)}, nil
}

// Close closes the connections.
func (r *Reader) Close() { r.rest.Close() }

// Read asks the server. Rates are those since the last call; of the first call they are those since the server
// began. Errors: those of the connection.
func (r *Reader) Read(ctx context.Context) (*Status, error) {
	s := &Status{Server: r.host}
	text, err := r.get(ctx, s, "/version")
	if err != nil {
		return nil, err
	}
	var version struct{ GitVersion string }
	if err := json.Unmarshal(text, &version); err == nil {
		s.Version = version.GitVersion
	}
	if text, err = r.get(ctx, s, "/readyz?verbose"); err != nil {
		return nil, err
	}
	s.Ready = bytes.HasSuffix(bytes.TrimSpace(text), []byte("check passed"))
	s.Failing = FailingChecks(text)
	s.Certificates = slices.Concat(serving(ctx, r.host), r.own, inDirectory(r.pki))
	if text, err = r.get(ctx, s, "/metrics"); err != nil || text == nil {
		return s, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return s, err
	}
	now := newSample(families, time.Now())
	s.Figures = now.since(r.last)
	r.last = now
	return s, nil
}

// FailingChecks are the names of the checks that fail, by an answer of /readyz?verbose.
func FailingChecks(text []byte) (names []string) {
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " failed")
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// mostBytes bounds an answer.
const mostBytes = 64 << 20

// get reads a path. What the user may not read is noted, and nil.
func (r *Reader) get(ctx context.Context, s *Status, path string) ([]byte, error) {
	text, err := r.rest.Get(ctx, path, mostBytes)
	var refused *client.Error
	if errors.As(err, &refused) {
		if refused.Code == 403 || refused.Code == 401 {
			path, _, _ = strings.Cut(path, "?")
			s.Hidden = append(s.Hidden, path+": it needs the right to get the URL "+path)
			return nil, nil
		}
		return []byte(refused.Answer), nil // of a check that fails
	}
	return text, err
}

// top are the n largest numbers, with their names.
func top(all map[string]float64, n int) (most []Count) {
	for name, value := range all {
		if value > 0 {
			most = append(most, Count{name, value})
		}
	}
	slices.SortFunc(most, func(a, b Count) int {
		if a.Number != b.Number {
			return int(b.Number - a.Number)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return most[:min(n, len(most))]
}
