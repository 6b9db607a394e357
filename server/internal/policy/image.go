package policy

import "strings"

// defaultRegistry is the registry of images that name none. It counts in the length of a
// name.
const defaultRegistry = "docker.io"

// imageTag finds the tag of an image reference: "latest" when it has neither a tag nor a
// digest, "" when it has a digest only or is not a reference. "host:5000/app" has no tag,
// "app:1" has.
func imageTag(image string) string {
	name, digest, hasDigest := strings.Cut(image, "@")
	registry, path := defaultRegistry, name
	if host, rest, ok := strings.Cut(name, "/"); ok && (strings.ContainsAny(host, ".:") || host == "localhost") {
		registry, path = host, rest
		if host == "index."+defaultRegistry {
			registry = defaultRegistry
		}
	}
	path, tag, hasTag := strings.Cut(path, ":")
	length := len(registry) + len("/") + len(path)
	if registry == defaultRegistry && !strings.Contains(path, "/") {
		length += len("library/")
	}
	switch {
	case length > 255, !isRegistry(registry) && !isImagePath(registry), isHex(image, 64):
		return ""
	case !isImagePath(path), hasTag && !isTag(tag), hasDigest && !isDigest(digest):
		return ""
	case !hasTag && !hasDigest:
		return "latest"
	}
	return tag
}

// isRegistry reports whether a text is a host, with or without a port.
func isRegistry(text string) bool {
	host, port, hasPort := strings.Cut(text, ":")
	if hasPort && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && !isLowerOrDigit(c) && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// isImagePath reports whether a text is made of components of small letters and
// digits, with one ".", one or two "_" or any number of "-" between them.
func isImagePath(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		separator := ""
		for i := range len(part) {
			switch c := part[i]; {
			case isLowerOrDigit(c):
				separator = ""
			case i > 0 && (separator == "" && (c == '.' || c == '_' || c == '-') || separator == "_" && c == '_' || separator == "-" && c == '-'):
				separator += string(c)
				if c == '-' {
					separator = "-"
				}
			default:
				return false
			}
		}
		if part == "" || separator != "" {
			return false
		}
	}
	return true
}

func isTag(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z', isLowerOrDigit(c), c == '_', i > 0 && (c == '.' || c == '-'):
		default:
			return false
		}
	}
	return 0 < len(text) && len(text) <= 128
}

// isDigest reports whether a text is a digest of one of the known algorithms.
func isDigest(text string) bool {
	algorithm, sum, _ := strings.Cut(text, ":")
	switch algorithm {
	case "sha256":
		return isHex(sum, 64)
	case "sha384":
		return isHex(sum, 96)
	case "sha512":
		return isHex(sum, 128)
	}
	return false
}

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

func isLowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
