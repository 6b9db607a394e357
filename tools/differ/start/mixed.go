package start

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
)

// Mixed starts a kube-apiserver and a server under test on one etcd. Each request goes to one of them,
// which is drawn, so that objects are written through one server and read through the other.
func Mixed(ctx context.Context, binaries, binary string) (*Process, error) {
	p, ports, err := newProcess(4)
	if err != nil {
		return nil, err
	}
	if p, err = p.ready(ctx, ports[0], p.runReference(binaries, ports[:3])); err != nil {
		return nil, err
	}
	reference := p.URL
	flags := append([]string{"serve", "--etcd-servers", loopback("http", ports[1]), "--data-dir", filepath.Join(p.dir, "data"),
		"--bind-address", "127.0.0.1", "--secure-port", ports[3], "--token-auth-file", p.tokens(), "--controllers", "-*",
		"--service-cluster-ip-range", "10.0.0.0/16"}, p.accountFlags()...)
	if p, err = p.ready(ctx, ports[3], p.run(binary, flags...)); err != nil {
		return nil, err
	}
	if err := p.spread(reference, p.URL); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// spread puts a balancer of requests in front of servers.
func (p *Process) spread(servers ...string) error {
	var targets []*url.URL
	for _, s := range servers {
		u, err := url.Parse(s)
		if err != nil {
			return err
		}
		targets = append(targets, u)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(targets[rand.IntN(len(targets))]) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 32},
		FlushInterval: -1, // events of watches come at once
	}
	p.front = httptest.NewTLSServer(proxy)
	p.URL = p.front.URL
	return nil
}
