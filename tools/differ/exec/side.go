// Package exec sends scenarios to two servers and collects their answers.
package exec

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/binary"
	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
	"github.com/capstan-dev/capstan/tools/differ/start"
)

const maxBody = 32 << 20

// Side is one of the two servers.
type Side struct {
	base    string
	token   string
	client  *http.Client
	timeout time.Duration
}

// NewSide checks that the address is on this machine and makes a client for it.
func NewSide(base, token string, timeout time.Duration) (*Side, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil {
		return nil, err
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address", base)
	}
	tr := &http.Transport{
		// Both servers run on this machine with certificates of their own making.
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 16,
	}
	return &Side{base: u.String(), token: token, timeout: timeout, client: &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Users are the names under which a step may be sent, besides the administrator: a user
// without rights, no credentials, and an unknown token.
var Users = []string{"user", "none", "badtoken"}

func (s *Side) tokenOf(user string) string {
	switch user {
	case "":
		return s.token
	case "none":
		return ""
	case "user":
		return start.UserToken
	}
	return user
}

// Do sends one request with this side's variables filled in.
func (s *Side) Do(ctx context.Context, st *scenario.Step, vars map[string]string) (*compare.Answer, error) {
	limit := s.timeout
	if st.Watch != nil {
		limit = time.Duration((st.Watch.TimeoutSeconds + 5) * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var rd io.Reader
	payload, contentType := st.Payload(vars), "application/json"
	if st.Binary {
		// An object that has no binary form goes as JSON, to both sides.
		if b, err := binary.Encode(payload); err == nil {
			payload, contentType = b, binary.MediaType
		}
	}
	if payload != nil {
		rd = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, st.Method, s.base+scenario.Fill(st.Path, vars), rd)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "differ/1")
	req.Header.Set("Accept", "application/json")
	if token := s.tokenOf(st.As); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if payload != nil {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range st.Headers {
		if v == "" {
			req.Header.Del(k)
			continue
		}
		req.Header.Set(k, scenario.Fill(v, vars))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &compare.Answer{Status: resp.StatusCode, Header: resp.Header}
	if st.Watch != nil && resp.StatusCode == http.StatusOK {
		a.Stream = true
		a.Events, a.Body = readEvents(resp.Body)
		return a, nil
	}
	a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	a.Parse()
	return a, nil
}

// readEvents reads a stream of JSON objects to its end; other text is returned as bytes.
func readEvents(r io.Reader) ([]any, []byte) {
	events := []any{}
	var rest bytes.Buffer
	dec := json.NewDecoder(io.TeeReader(io.LimitReader(r, maxBody), &rest))
	for {
		var e any
		if err := dec.Decode(&e); err != nil {
			var syn *json.SyntaxError
			if errors.As(err, &syn) {
				return events, rest.Bytes()
			}
			return events, nil
		}
		if m, ok := e.(map[string]any); ok && m["type"] == "BOOKMARK" {
			continue
		}
		events = append(events, e)
	}
}
