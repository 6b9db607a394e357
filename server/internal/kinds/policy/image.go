package policy

import (
	"regexp"
	"strings"
	"sync"
)

// imageReference matches the references of images, with a tag, a digest, both or none. The
// path is components of small letters and digits, with one ".", one or two "_" or any
// number of "-" between them; the registry before it is optional.
var imageReference = sync.OnceValue(func() *regexp.Regexp {
	const label, part = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`, `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	return regexp.MustCompile(`^(?:` + label + `(?:(?:\.` + label + `)+(?::[0-9]+)?|:[0-9]+)/)?` + part + `(?:/` + part + `)*` +
		`(?::[\w][\w.-]{0,127})?(?:@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?$`)
})

// maxImageName bounds the name of an image with its registry, in bytes.
const maxImageName = 255

// isLatest reports whether an image reference has the tag "latest", or neither a tag nor a
// digest. "host:5000/app" has no tag, "app:1" has. A text that is not a reference has none.
func isLatest(image string) bool {
	name, _, hasDigest := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		if name[colon+1:] != "latest" {
			return false
		}
		name = name[:colon]
	} else if hasDigest {
		return false
	}
	return wholeName(name) <= maxImageName && !(len(image) == 64 && strings.Trim(image, "0123456789abcdef") == "") && imageReference().MatchString(image)
}

// wholeName is the length of the name of an image with the registry and the path that it
// implies.
func wholeName(name string) int {
	host, path, found := strings.Cut(name, "/")
	switch {
	case found && host == "index.docker.io":
		host = "docker.io"
	case !found || !strings.ContainsAny(host, ".:") && host != "localhost":
		host, path = "docker.io", name
	}
	if host == "docker.io" && !strings.Contains(path, "/") {
		path = "library/" + path
	}
	return len(host) + len("/") + len(path)
}
