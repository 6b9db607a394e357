package endpoints

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// passage is the way of a request through a proxy. Links of the answer that lead to the
// root of the other server are changed to lead through the proxy.
type passage struct {
	base string   // the path of the root of the other server, at this one
	to   *url.URL // at the other server
	host string   // the name by which the client knows this server
}

func newPassage(r *http.Request, to *url.URL) *passage {
	below := strings.TrimSuffix(to.Path, "/") // routing drops the slash from the other
	return &passage{base: strings.TrimSuffix(r.URL.Path, below), to: to, host: r.Host}
}

// rewrite makes the request that goes out. It keeps the name by which the client asks.
func (p *passage) rewrite(out *httputil.ProxyRequest) {
	out.Out.URL, out.Out.Host = p.to, p.host
	out.SetXForwarded()
	out.Out.Header.Set("X-Forwarded-Uri", p.base+p.to.EscapedPath())
}

// foreign are the headers by which the other server would open this one to pages of
// others.
var foreign = strings.Fields("Access-Control-Allow-Credentials Access-Control-Allow-Headers Access-Control-Allow-Methods Access-Control-Allow-Origin")

// modify changes the links of an answer.
func (p *passage) modify(resp *http.Response) error {
	for _, name := range foreign {
		resp.Header.Del(name)
	}
	if location := resp.Header.Get("Location"); location != "" {
		if at, err := url.Parse(location); err == nil && p.link(at) {
			resp.Header.Set("Location", at.String())
		}
		return nil
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(media) != "text/html" || resp.Request.Method == http.MethodHead || resp.StatusCode == http.StatusPartialContent ||
		resp.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if page, known := decodedPage(resp.Body, resp.Header.Get("Content-Encoding")); known {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{relinkPage(page, p.link), resp.Body}
		resp.Header.Del("Content-Length")
		resp.Header.Del("Content-Encoding")
		resp.ContentLength = -1
	}
	return nil
}

// link makes a link to the root of the other server, or of this one, lead through the
// proxy.
func (p *passage) link(u *url.URL) (changed bool) {
	if u.Host != "" && u.Host != p.to.Host && u.Host != p.host || !strings.HasPrefix(u.Path, "/") {
		return false
	}
	before := *u
	if u.Host != p.host {
		u.Scheme, u.Host = "", ""
	}
	if !strings.HasPrefix(u.Path, p.base) {
		u.Path, u.RawPath = p.base+u.Path, (&url.URL{Path: p.base}).EscapedPath()+u.EscapedPath()
	}
	return *u != before
}
