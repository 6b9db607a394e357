package document

import (
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// textFormat is a format of JSON Schema for texts.
type textFormat struct {
	right func(string) bool
	what  string // a right text, in messages
}

var textFormats = map[string]textFormat{
	"date":                  {isDate, "a date, like 2006-01-02"},
	"time":                  {isTime, "a time of day with its zone, like 15:04:05Z"},
	"date-time":             {isDateTime, "a date and a time, like 2006-01-02T15:04:05Z"},
	"email":                 {isEmail, "an email address"},
	"hostname":              {isHostname, "a host name"},
	"ipv4":                  {isIPv4, "an IPv4 address"},
	"ipv6":                  {isIPv6, "an IPv6 address"},
	"json-pointer":          {isJSONPointer, "a JSON pointer, like /spec/replicas"},
	"regex":                 {isRegexp, "a regular expression (RE2)"},
	"relative-json-pointer": {isRelativePointer, "a relative JSON pointer, like 1/replicas"},
	"uri":                   {func(s string) bool { u := parseURI(s); return u != nil && u.IsAbs() }, "a URI with a scheme"},
	"uri-reference":         {func(s string) bool { return parseURI(s) != nil && !strings.Contains(s, `\`) }, "a URI, or a reference relative to one"},
	"uuid":                  {uuid.MatchString, "a UUID, like 123e4567-e89b-12d3-a456-426614174000"},
}

// TextFormats lists the formats of JSON Schema that CheckFormat knows, besides Formats.
func TextFormats() []string {
	names := make([]string, 0, len(textFormats))
	for name := range textFormats {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// badText reports that a text is not in a format of JSON Schema.
func badText(format, value string) []string {
	if f, known := textFormats[format]; known && !f.right(value) {
		return []string{"must be " + f.what}
	}
	return nil
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

var timeOfDay = regexp.MustCompile(`^([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(\.[0-9]+)?([zZ]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$`)

// isTime accepts leap seconds at the end of the day in UTC.
func isTime(s string) bool {
	part := timeOfDay.FindStringSubmatch(s)
	if part == nil || part[3] != "60" {
		return part != nil
	}
	number := func(i int) int { n, _ := strconv.Atoi(part[i]); return n }
	offset := number(7)*60 + number(8)
	if part[6] == "+" {
		offset = -offset
	}
	const day = 24 * 60
	return (number(1)*60+number(2)+offset+day)%day == day-1
}

func isDateTime(s string) bool {
	return len(s) > 10 && (s[10] == 'T' || s[10] == 't') && isDate(s[:10]) && isTime(s[11:])
}

var hostLabel = regexp.MustCompile(`^[a-zA-Z0-9-]*[a-zA-Z0-9]$`)

func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 || strings.HasPrefix(s, "-") {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) > 63 || !hostLabel.MatchString(label) {
			return false
		}
	}
	return true
}

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if len(s) > 254 || at < 0 || at > 64 {
		return false
	}
	domain := s[at+1:]
	if inner, ok := strings.CutPrefix(domain, "["); ok && strings.HasSuffix(inner, "]") {
		address, six := strings.CutPrefix(strings.TrimSuffix(inner, "]"), "IPv6:")
		return six && isIPv6(address) || !six && isIPv4(address)
	}
	_, err := mail.ParseAddress(s)
	return err == nil && isHostname(domain)
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool { return strings.Contains(s, ":") && net.ParseIP(s) != nil }

// parseURI parses a URI or a reference; nil if it is not one.
func parseURI(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		return nil
	}
	if host := u.Hostname(); strings.Contains(host, ":") && (!strings.Contains(u.Host, "[") || !strings.Contains(u.Host, "]") || !isIPv6(host)) {
		return nil
	}
	return u
}

func isRegexp(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}

var jsonPointer = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)

func isJSONPointer(s string) bool { return jsonPointer.MatchString(s) }

var relativeSteps = regexp.MustCompile(`^(0|[1-9][0-9]*)`)

func isRelativePointer(s string) bool {
	steps := relativeSteps.FindString(s)
	rest := s[len(steps):]
	return steps != "" && (rest == "#" || isJSONPointer(rest))
}
