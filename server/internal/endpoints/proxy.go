package endpoints

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/outbound"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// askAgent sends a request to the agent of a node. modify may change the answer; nil for
// no change.
func (x *Endpoints) askAgent(r *request.Request, at place, path string, query url.Values, insecure bool, modify func(*http.Response) error) error {
	if at.failure != nil {
		return unavailable(at.failure.Error())
	}
	to := &url.URL{Scheme: "https", Host: net.JoinHostPort(at.host, at.port), Path: path, RawQuery: query.Encode()}
	by := x.agents.Begin(insecure)
	defer by.End()
	err := x.send(r, outbound.Trip{Transports: by, Modify: modify, Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL, p.Out.Host = to, to.Host
		p.SetXForwarded()
	}})
	var known *api.Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, outbound.ErrLocal):
		return unavailable("node " + at.node + ": " + err.Error() + "; its agent cannot be at a loopback, link-local or metadata address")
	}
	return &api.Error{Code: http.StatusInternalServerError, Reason: api.ReasonInternalError, Message: "error dialing backend: " + err.Error()}
}

// send makes the trip of a request. Errors: of the client, which has gone, or of the
// connection.
func (x *Endpoints) send(r *request.Request, trip outbound.Trip) error {
	trip.Request = r
	err := x.cfg.Forwarder.Send(r.Context, trip)
	if err != nil && r.HTTP.Context().Err() != nil {
		return r.HTTP.Context().Err()
	}
	return err
}

// mostWords bounds the text of an agent's failure, in bytes.
const mostWords = 50000

// plainLog makes an agent's answer that of a log: a text, or an error with the agent's
// words.
func plainLog(resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode <= 206 {
		resp.Header = http.Header{"Content-Type": {"text/plain"}}
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostWords))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusBadRequest:
		return api.BadRequest("%s", text)
	case resp.StatusCode < 400:
		return &api.Error{Code: http.StatusBadGateway, Reason: api.ReasonInternalError,
			Message: "the agent of the node attempted to redirect this request, which is not permitted"}
	case resp.StatusCode == http.StatusNotFound:
		return &api.Error{Code: http.StatusNotFound, Reason: api.ReasonNotFound, Message: "the server could not find the requested resource: " + string(text)}
	}
	return &api.Error{Code: http.StatusInternalServerError, Reason: api.ReasonInternalError,
		Message: fmt.Sprintf("the agent of the node answered %d: %s", resp.StatusCode, text)}
}

// proxy is every method on the proxy of a pod, a node or a service, whose name may have a
// scheme before and a port after it: "https:web:8443".
func (x *Endpoints) proxy(r *request.Request) error {
	options, err := x.admitConnection(r)
	if err != nil {
		return err
	}
	defer options.Release()
	t := r.Target
	scheme, name, port := "", t.Name, ""
	switch parts := strings.Split(t.Name, ":"); {
	case len(parts) == 2:
		name, port = parts[0], parts[1]
	case len(parts) == 3 && (parts[0] == "" || parts[0] == "http" || parts[0] == "https"):
		scheme, name, port = parts[0], parts[1], parts[2]
	case len(parts) > 2:
		return api.BadRequest("invalid %s request %q: use name, name:port or scheme:name:port", strings.TrimSuffix(t.Row.Plural, "s"), t.Name)
	}
	obj, release, err := x.reader.Get(r.Context, t.Row.GV.Group, t.Row.Plural, t.Namespace, name)
	defer release()
	if err != nil {
		return err
	}
	to := &url.URL{Scheme: "http", Path: options.Root().Get("path").Text(), RawQuery: r.HTTP.URL.RawQuery}
	if scheme != "" {
		to.Scheme = scheme
	}
	by := x.agents.Pods()
	switch t.Sub.Endpoint {
	case api.EndpointProxyService:
		to.Host, err = x.endpointOf(r, obj, name, port)
	case api.EndpointProxyPod:
		to.Host, err = x.podHost(obj, port)
	default:
		host, agent, failure := x.agents.Address(obj)
		if err = failure; err != nil {
			return unavailable(err.Error())
		}
		if port == "" || port == agent {
			port, to.Scheme, by = agent, "https", x.agents.Begin(false)
			defer by.End()
		}
		to.Host = net.JoinHostPort(host, port)
	}
	if err != nil {
		return err
	}
	return x.passOn(r, to, by)
}

// passOn forwards a request for a proxy. A path without a slash after "proxy" would
// mislead relative links, and is completed first.
func (x *Endpoints) passOn(r *request.Request, to *url.URL, by *outbound.Transports) error {
	base, _, _ := strings.Cut(r.HTTP.RequestURI, "?")
	if to.Path == "" && r.Method() == http.MethodGet && r.Upgrade() == "" {
		location := base + "/"
		if to.RawQuery != "" {
			location += "?" + to.RawQuery
		}
		r.Writer.Header().Set("Location", location)
		r.Head(http.StatusMovedPermanently, "")
		return nil
	}
	through := newPassage(r.HTTP, to)
	err := x.send(r, outbound.Trip{Transports: by, Modify: through.modify, Rewrite: through.rewrite})
	switch {
	case err == nil || r.HTTP.Context().Err() != nil:
		return err
	case errors.Is(err, outbound.ErrLocal):
		return api.BadRequest("%s", outbound.ErrLocal)
	}
	return unavailable("error trying to reach service: " + err.Error())
}

// podHost is the address of a pod, at its first port unless one is named.
func (x *Endpoints) podHost(pod document.Value, port string) (string, error) {
	for _, c := range pod.At("spec", "containers").Elements() {
		if first, ok := c.Get("ports").Index(0).Get("containerPort").Int(); ok && port == "" {
			port = strconv.FormatInt(first, 10)
		}
	}
	ip, err := netip.ParseAddr(podAddress(pod))
	if err != nil || !x.agents.Permits(ip) {
		return "", api.BadRequest("%s", outbound.ErrLocal)
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(ip.String(), port), nil
}

func podAddress(pod document.Value) string {
	if ip := pod.At("status", "podIPs").Index(0).Get("ip").Text(); ip != "" {
		return ip
	}
	return pod.At("status", "podIP").Text()
}

// endpointOf is the address of a random endpoint of a service that is a pod of its
// namespace: endpoints that somebody has written by hand could be anywhere.
func (x *Endpoints) endpointOf(r *request.Request, service document.Value, name, port string) (string, error) {
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		found := false
		for _, p := range service.At("spec", "ports").Elements() {
			if n, _ := p.Get("port").Int(); n == number {
				port, found = p.Get("name").Text(), true
				break
			}
		}
		if !found {
			return "", unavailable(fmt.Sprintf("no service port %d found for service %q", number, name))
		}
	}
	endpoints, release, err := x.reader.Get(r.Context, "", "endpoints", r.Target.Namespace, name)
	defer release()
	if err != nil {
		return "", missingFor(r, name, err)
	}
	var all []string
	for _, subset := range endpoints.Get("subsets").Elements() {
		for _, p := range subset.Get("ports").Elements() {
			if !p.Get("name").Equals(port) && !(port == "" && p.Get("name").Text() == "") {
				continue
			}
			for _, address := range subset.Get("addresses").Elements() {
				n, _ := p.Get("port").Int()
				if x.isPod(r, address) {
					all = append(all, net.JoinHostPort(address.Get("ip").Text(), strconv.FormatInt(n, 10)))
				}
			}
		}
	}
	if len(all) == 0 {
		return "", unavailable(fmt.Sprintf("no endpoints available for service %q", r.Target.Name))
	}
	return all[rand.IntN(len(all))], nil
}

// isPod reports whether an endpoint is the address of the pod that it names.
func (x *Endpoints) isPod(r *request.Request, address document.Value) bool {
	ref := address.Get("targetRef")
	if !ref.Exists() || !ref.Get("namespace").Equals(r.Target.Namespace) {
		return false
	}
	pod, release, err := x.reader.Get(r.Context, "", "pods", r.Target.Namespace, ref.Get("name").Text())
	defer release()
	for _, ip := range pod.At("status", "podIPs").Elements() {
		if err == nil && ip.Get("ip").Equals(address.Get("ip").Text()) {
			return true
		}
	}
	return false
}
