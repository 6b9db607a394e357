package policy

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// webhookClient checks the address of a webhook, the named member of v: a URL or a
// service.
func (c *causes) webhookClient(v document.Value, name string) {
	config := v.Get(name)
	address, service := config.Get("url"), config.Get("service")
	switch {
	case isSet(address) == isSet(service):
		c.Required(member(v, name), "exactly one of url or service is required")
	case isSet(address):
		c.webhookURL(address)
	default:
		c.webhookService(service)
	}
}

func (c *causes) webhookURL(v document.Value) {
	const form = "; desired format: https://host[/path]"
	u, err := url.Parse(v.Text())
	if err != nil {
		c.Required(v.Path(), "url must be a valid URL: "+err.Error()+form)
		return
	}
	for _, rule := range [...]struct {
		broken bool
		why    string
	}{
		{u.Scheme != "https", "'https' is the only allowed URL scheme" + form},
		{u.Host == "", "host must be specified" + form},
		{u.User != nil, "user information is not permitted in the URL"},
		{u.Fragment != "", "fragments are not permitted in the URL"},
		{u.RawQuery != "", "query parameters are not permitted in the URL"},
	} {
		if rule.broken {
			c.Invalid(v, rule.why)
		}
	}
}

// webhookService checks a reference to a service. A missing name is reported as a missing
// namespace and the other way round, as in 1.25.
func (c *causes) webhookService(v document.Value) {
	if isEmpty(v.Get("namespace")) {
		c.Required(member(v, "name"), "service name is required")
	}
	if isEmpty(v.Get("name")) {
		c.Required(member(v, "namespace"), "service namespace is required")
	}
	path := v.Get("path")
	text := path.Text()
	if text == "" || text == "/" {
		return
	}
	if text == "//" {
		c.Invalid(path, "segment[0] may not be empty")
		return
	}
	if text[0] != '/' {
		c.Invalid(path, "must start with a '/'")
	}
	for i, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		at := "segment[" + strconv.Itoa(i) + "]"
		if segment == "" {
			c.Invalid(path, at+" may not be empty")
			continue
		}
		for _, problem := range document.CheckFormat("dns1123-subdomain", segment) {
			c.Invalid(path, at+": "+problem)
		}
	}
}
