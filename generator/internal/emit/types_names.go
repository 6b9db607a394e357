package emit

import (
	"slices"
	"strings"
	"unicode"
)

// module is the import path of this module.
const module = "github.com/capstan-dev/capstan"

// words are the first words of JSON names that Go writes in another way than
// with one capital letter.
var words = map[string]string{
	"api": "API", "aws": "AWS", "ca": "CA", "cephfs": "CephFS", "chap": "CHAP", "cidr": "CIDR", "cpu": "CPU", "csi": "CSI",
	"dns": "DNS", "fc": "FC", "fs": "FS", "gce": "GCE", "gmsa": "GMSA", "grpc": "GRPC", "http": "HTTP", "https": "HTTPS",
	"id": "ID", "ip": "IP", "iqn": "IQN", "iscsi": "ISCSI", "nfs": "NFS", "os": "OS", "pd": "PD", "qos": "QOS", "rbd": "RBD",
	"se": "SE", "ssl": "SSL", "storageos": "StorageOS", "tcp": "TCP", "tls": "TLS", "ttl": "TTL", "tty": "TTY", "uid": "UID",
	"uri": "URI", "url": "URL", "wwids": "WWIDs",
}

// goName is the Go name of a JSON member: "hostIPC" is HostIPC, "apiVersion"
// is APIVersion.
func goName(name string) string {
	end := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLower(r) })
	if end < 0 {
		end = len(name)
	}
	if first, rest, found := strings.Cut(name, "-"); found && first != "" && rest != "" {
		return goName(first) + upperFirst(goName(rest))
	}
	if first, rest, found := strings.Cut(name, "_"); found && first != "" && rest != "" {
		return goName(first) + upperFirst(goName(rest))
	}
	if word := words[name[:end]]; word != "" {
		return word + name[end:]
	}
	return upperFirst(name)
}

// reserved are the names that other emitters declare in the package of a group
// version, and those that Go code would read as something else.
var reserved = []string{"Defaults", "Hooks", "New", "Table"}

// goTypeName is the Go name of a named type.
func goTypeName(name, override string) string {
	if override != "" {
		return override
	}
	if slices.Contains(reserved, name) {
		return name + "Object"
	}
	return name
}

// goPackage is the package of a directory: "core/v1" is corev1, "cert-manager/v1" certmanagerv1.
func goPackage(dir string) string { return strings.NewReplacer("/", "", ".", "", "-", "").Replace(dir) }

// wrap breaks a text into lines of at most that many characters, where it has
// spaces. Line breaks of the text stay.
func wrap(text string, width int) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		column := 0
		for j, word := range strings.Fields(line) {
			switch {
			case j == 0:
			case column+1+len(word) > width:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return b.String()
}
