package extensions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/outbound"
)

// check finds out whether an extension server is available: its service has a server,
// and that answers a request for discovery.
func (x *Extensions) check(ctx context.Context, s *server) status {
	if reason, message := x.cfg.Backends.Missing(s.at.namespace, s.at.name, s.at.port); reason != "" {
		return status{"False", reason, message}
	}
	if err := x.try(ctx, s); err != nil {
		return status{"False", failedCheck, err.Error()}
	}
	return status{"True", "Passed", "all checks passed"}
}

// failedCheck is the reason of a condition where a server could be reached, but did not
// answer well.
const failedCheck = "FailedDiscoveryCheck"

// attempts is the number of requests of a check, of which one has to succeed.
const attempts = 5

// try makes the attempts of a check: one after the other while they fail quickly, and
// more at the same time while they do not end.
func (x *Extensions) try(ctx context.Context, s *server) (err error) {
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Times.Attempt+attempts*x.cfg.Times.Stagger)
	defer cancel()
	results := make(chan error, attempts)
	stagger := time.NewTicker(x.cfg.Times.Stagger)
	defer stagger.Stop()
	begun, ended := 0, 0
	begin := func() {
		if begun < attempts {
			begun++
			go func() { results <- x.attempt(ctx, s) }()
		}
	}
	begin()
	for ended < attempts {
		select {
		case err = <-results:
			if ended++; err == nil {
				return nil
			}
			begin()
		case <-stagger.C:
			begin()
		}
	}
	return err
}

// checker is the user of the server's own requests to extension servers.
var checker = &authn.User{Name: "system:kube-aggregator", Groups: []string{authn.GroupMasters}}

// attempt requests the discovery document of the group version. The errors are those of
// 1.25.
func (x *Extensions) attempt(ctx context.Context, s *server) error {
	address, err := x.cfg.Backends.Resolve(ctx, s.at.namespace, s.at.name, s.at.port)
	if err != nil {
		return err
	}
	url := "https://" + address + "/apis/" + s.APIVersion()
	by := s.way.checks.Begin(x.cfg.Certificate())
	defer by.End()
	resp, err := x.get(ctx, by, url, "")
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
		_ = resp.Body.Close()
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			err = fmt.Errorf("bad status from %s: %d", url, resp.StatusCode)
		}
	}
	if err != nil {
		return fmt.Errorf("failing or missing response from %s: %s", url, lasting(err))
	}
	return nil
}

// lasting is the text of an error without the port of this server's end of a connection,
// which differs each time.
func lasting(err error) string {
	var of *net.OpError
	if errors.As(err, &of) && of.Source != nil {
		return strings.Replace(err.Error(), of.Source.String()+"->", "", 1)
	}
	return err.Error()
}

// get requests a document of an extension server, unless it still has the entity tag.
func (x *Extensions) get(ctx context.Context, by *outbound.Transports, url, tag string) (*http.Response, error) {
	return x.request(ctx, http.MethodGet, by, url, tag)
}

// request sends a request of this server's own. A redirect is an answer like others.
func (x *Extensions) request(ctx context.Context, method string, by *outbound.Transports, url, tag string) (*http.Response, error) {
	if by.Err != nil {
		return nil, by.Err
	}
	q, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	q.Header.Set("User-Agent", "capstan")
	if tag != "" {
		q.Header.Set("If-None-Match", tag)
	}
	setUser(q.Header, checker)
	client := http.Client{Transport: by.Requests, Timeout: x.cfg.Times.Attempt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(q)
}
