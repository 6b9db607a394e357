package endpoints

import (
	"encoding/json"
	"net/http"

	"github.com/capstan-dev/capstan/explorer"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/buildinfo"
	"github.com/capstan-dev/capstan/internal/openid"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// The explorer is a page for browsers. Its files are the same for everybody and are sent without
// a log-in, since the log-in is in them. The page reads objects by requests like those of all clients.

// ExplorerPath is the path of the page; its files are below it.
const ExplorerPath = "/explorer"

// Explorer answers for the files of the page.
type Explorer struct {
	page     *explorer.Page
	config   []byte // public facts about the server, JSON
	issuer   string
	tokenURL func() string
}

// NewExplorer makes the answers; users may log in by the issuer of ID tokens, if there is one.
// tokenURL returns the address at which that issuer gives tokens; "" while the server does not know it.
func NewExplorer(issuer openid.Settings, tokenURL func() string) *Explorer {
	facts := explorerFacts{Version: buildinfo.Read().Version}
	if issuer.OIDCIssuerURL != "" {
		facts.OIDC = &explorerIssuer{Issuer: issuer.OIDCIssuerURL, ClientID: issuer.OIDCClientID, Scopes: []string{"openid", "email", "profile"}}
		if issuer.OIDCGroupsClaim != "" {
			facts.OIDC.Scopes = append(facts.OIDC.Scopes, "groups")
		}
	}
	config, _ := json.Marshal(facts) // texts
	return &Explorer{page: explorer.Open(), config: config, issuer: issuer.OIDCIssuerURL, tokenURL: tokenURL}
}

// policy is the content security policy. The page reads the issuer's description and exchanges a code for a token by requests
// of its own, which may go to two hosts. It does not send a request to the place where people log in: the browser goes there.
func (x *Explorer) policy() string {
	connect := "'self'"
	issuer, tokens := openid.Origin(x.issuer), openid.Origin(x.tokenURL())
	if issuer != "" {
		connect += " " + issuer
	}
	if tokens != "" && tokens != issuer {
		connect += " " + tokens
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src " + connect +
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}

// explorerFacts is the file config.json of the page.
type explorerFacts struct {
	Version string          `json:"version"`
	OIDC    *explorerIssuer `json:"oidc"` // null without an issuer
}

// explorerIssuer is the issuer by which users of the page may log in.
type explorerIssuer struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientID"`
	Scopes   []string `json:"scopes"` // that are asked for, as far as the issuer has them; the last ones are the first that can be done without
}

// At finds a file, by its path below the page's.
func (x *Explorer) At(rest string) request.Target {
	return x.target(func(r *request.Request) error {
		h := r.Writer.Header()
		h.Set("Content-Security-Policy", x.policy())
		if rest == "config.json" {
			return r.Send(http.StatusOK, "application/json", x.config)
		}
		f := x.page.Find(rest)
		if f == nil {
			return r.Send(http.StatusNotFound, "text/plain; charset=utf-8", []byte("404 page not found\n"))
		}
		h.Set("Cache-Control", "no-cache") // names of files do not change with their content
		h.Set("Etag", f.Tag())
		h.Add("Vary", "Accept-Encoding")
		switch {
		case r.HTTP.Header.Get("If-None-Match") == f.Tag():
			r.Head(http.StatusNotModified, "")
			return nil
		case r.AcceptsGzip():
			return r.SendPacked(http.StatusOK, f.Type, f.Packed())
		}
		return r.Send(http.StatusOK, f.Type, f.Text())
	})
}

// Redirect leads from the path of the page without its last slash to the page. The address
// counts from that of the request, which a proxy may have put below a path of its own.
func (x *Explorer) Redirect() request.Target {
	return x.target(func(r *request.Request) error {
		r.Writer.Header().Set("Location", ExplorerPath[1:]+"/")
		return r.Send(http.StatusTemporaryRedirect, "")
	})
}

// target is that of a public file. The headers keep browsers from showing the page in frames,
// from sharing it with other windows, and from sending its address elsewhere.
func (x *Explorer) target(answer request.Verb) request.Target {
	return request.Target{EndpointPath: ExplorerPath, OwnRepresentation: true, Public: true, Endpoint: func(r *request.Request) error {
		if r.Method() != http.MethodGet {
			return api.MethodNotAllowed([]string{http.MethodGet, http.MethodHead})
		}
		h := r.Writer.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		return answer(r)
	}}
}
