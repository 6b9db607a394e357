package document

import "strings"

// Classes of characters that names are made of.
const (
	lower uint8 = 1 << iota
	upper
	digit
	hyphen
	dot
	underscore
	alnum = lower | upper | digit
)

var classes = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = lower, upper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	t['-'], t['.'], t['_'] = hyphen, dot, underscore
	return t
}()

// wellFormed reports whether a string certainly passes a named check. It costs a walk
// over the string, while the check itself runs regular expressions; for other strings the
// check decides.
func wellFormed(name, s string) bool {
	if s == "" {
		return name == "label-value"
	}
	switch name {
	case "dns1123-label":
		return label(s)
	case "domain-name":
		return subdomain(strings.TrimSuffix(s, "."))
	case "dns1123-subdomain":
		return subdomain(s)
	case "dns1035-label":
		return label(s) && classes[s[0]] == lower
	case "qualified-name":
		prefix, rest, found := strings.Cut(s, "/")
		if !found {
			return qualified(s)
		}
		return subdomain(prefix) && qualified(rest)
	case "label-value":
		return qualified(s)
	case "config-key":
		return len(s) <= 253 && s[0] != '.' && of(s, alnum|hyphen|dot|underscore)
	case "env-var-name":
		return classes[s[0]]&(lower|upper|underscore) != 0 && of(s, alnum|hyphen|dot|underscore)
	case "file-path", "no-backsteps", "relative-path":
		return (s[0] != '/' || name == "no-backsteps") && !strings.Contains(s, "..")
	case "port-name":
		return len(s) <= 15 && label(s) && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") && !strings.Contains(s, "--")
	}
	return false
}

// of reports whether a string has characters of the allowed classes only.
func of(s string, allowed uint8) bool {
	for i := 0; i < len(s); i++ {
		if classes[s[i]]&allowed == 0 {
			return false
		}
	}
	return true
}

// bounded reports whether a string that is not too long begins and ends with characters
// of the classes ends and has those of between in between.
func bounded(s string, longest int, ends, between uint8) bool {
	return s != "" && len(s) <= longest && classes[s[0]]&ends != 0 && classes[s[len(s)-1]]&ends != 0 && of(s, ends|between)
}

func label(s string) bool { return bounded(s, 63, lower|digit, hyphen) }

func qualified(s string) bool { return bounded(s, 63, alnum, hyphen|dot|underscore) }

// subdomain accepts labels of any length separated by dots.
func subdomain(s string) bool {
	if !bounded(s, 253, lower|digit, hyphen|dot) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '.' && (s[i-1] == '.' || s[i-1] == '-') || s[i] == '-' && s[i-1] == '.' {
			return false
		}
	}
	return true
}
