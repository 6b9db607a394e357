package policy

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Bounds of Windows' settings, in bytes.
const (
	maxCredentialSpec = 64 << 10
	maxUserDomain     = 255
	maxUserName       = 104
)

var (
	netBIOSDomain = regexp.MustCompile(`^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$`)
	dnsDomain     = regexp.MustCompile(`^[[:alnum:]]([[:alnum:]-]{0,61}[[:alnum:]])?(\.[[:alnum:]]([[:alnum:]-]{0,61}[[:alnum:]])?)*$`)
)

// ValidateWindowsSecurityContextOptions checks the user of a container.
func (Policy) ValidateWindowsSecurityContextOptions(options document.Value) []schema.Cause {
	var c causes
	if spec := options.Get("gmsaCredentialSpec"); isSet(spec) {
		switch size := len(spec.Text()); {
		case size == 0:
			c.Invalid(spec, "gmsaCredentialSpec cannot be an empty string")
		case size > maxCredentialSpec:
			c.Invalid(spec, "gmsaCredentialSpec must be at most 64 KiB")
		}
	}
	if user := options.Get("runAsUserName"); isSet(user) {
		c.windowsUser(user)
	}
	return c.Causes
}

// windowsUser checks the name of a user, which may have a domain before it.
func (c *causes) windowsUser(v document.Value) {
	text := v.Text()
	domain, user, hasDomain := strings.Cut(text, `\`)
	if !hasDomain {
		domain, user = "", text
	}
	switch {
	case text == "":
		c.Invalid(v, "runAsUserName cannot be an empty string")
		return
	case strings.ContainsFunc(text, unicode.IsControl):
		c.Invalid(v, "cannot contain control characters")
		return
	case strings.Contains(user, `\`):
		c.Invalid(v, "cannot contain more than one backslash")
		return
	}
	if len(domain) > maxUserDomain {
		c.Invalid(v, "the domain must have at most "+strconv.Itoa(maxUserDomain)+" bytes")
	}
	if hasDomain && !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain) {
		c.Invalid(v, "the domain is neither a NetBIOS name nor one of DNS")
	}
	switch {
	case user == "":
		c.Invalid(v, "the user cannot be empty")
	case len(user) > maxUserName:
		c.Invalid(v, "the user must have at most "+strconv.Itoa(maxUserName)+" bytes")
	}
	if user != "" && strings.Trim(user, ". ") == "" {
		c.Invalid(v, "the user cannot consist of dots and spaces")
	}
	if strings.ContainsAny(user, `"/\:;|=,+*?<>@[]`) {
		c.Invalid(v, `the user cannot contain any of "/\:;|=,+*?<>@[]`)
	}
}

// hostProcess checks that containers that run on the node itself are all of their pod's,
// and in its network.
func (c *causes) hostProcess(spec document.Value) {
	const options, process = "windowsOptions", "hostProcess"
	pod := spec.At("securityContext", options, process)
	count, onHost := 0, 0
	for container := range containersIn(spec, podContainers[:]...) {
		count++
		own := container.At("securityContext", options, process)
		if isSet(pod) && isSet(own) && pod.Bool() != own.Bool() {
			c.Invalid(own, "must be that of the pod where both are specified")
		}
		if own.Bool() || !isSet(own) && pod.Bool() {
			onHost++
		}
	}
	if onHost == 0 {
		return
	}
	if onHost != count {
		c.InvalidText(spec.Path(), "", "either all containers are hostProcess containers or none is")
	}
	if network := spec.Get("hostNetwork"); !network.Bool() {
		c.Add(schema.CauseInvalid, member(spec, "hostNetwork"), "Invalid value: false: must be true if there are hostProcess containers")
	}
}
