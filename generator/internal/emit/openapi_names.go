package emit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// componentNames gives types the names by which published documents know them.
type componentNames struct {
	base string            // "io.k8s", the group suffix backwards
	own  map[string]string // by the folder of a group of somebody else: "com.example.fleet"
}

func newComponentNames(m *model.Model) componentNames {
	n := componentNames{base: backwards(m.Profile.GroupSuffix), own: map[string]string{}}
	for _, gv := range m.GroupVersions {
		if folder, _, _ := strings.Cut(gv.Dir, "/"); n.own[folder] == "" || gv.Served {
			if group := ownGroup(m, gv); group != "" {
				n.own[folder] = backwards(group)
			}
		}
	}
	return n
}

// ownGroup is the name of a group that does not belong to the profile, "" for others.
func ownGroup(m *model.Model, gv *model.GroupVersion) string {
	foreign := strings.Contains(gv.Group, ".") && !strings.HasSuffix(gv.Group, "."+m.Profile.GroupSuffix)
	if gv.Dir != "meta/v1" && (foreign || m.Module != "" && !gv.BuiltIn) {
		return gv.Group
	}
	return ""
}

// backwards is com.example for example.com.
func backwards(domain string) string {
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// machinery names a type of the shared machinery: machinery("util.intstr",
// "IntOrString").
func (n componentNames) machinery(pkg, name string) string {
	return n.base + ".apimachinery.pkg." + pkg + "." + name
}

// of names a type of the documents. The groups that the published documents
// keep elsewhere are those that were added by a separate server in 1.25.
func (n componentNames) of(dir, name string) string {
	group, version, _ := strings.Cut(dir, "/")
	if own := n.own[group]; own != "" {
		return own + "." + version + "." + name
	}
	switch group {
	case "meta":
		switch name {
		case "Quantity":
			return n.machinery("api.resource", name)
		case "IntOrString":
			return n.machinery("util.intstr", name)
		case "RawExtension":
			return n.machinery("runtime", name)
		case "JSON":
			return n.of("apiextensions/v1", name)
		case "Info":
			return n.machinery("version", name)
		}
		return n.machinery("apis.meta."+version, name)
	case "apiextensions":
		return n.base + ".apiextensions-apiserver.pkg.apis." + group + "." + version + "." + name
	case "apiregistration":
		return n.base + ".kube-aggregator.pkg.apis." + group + "." + version + "." + name
	}
	if group, _, _ = strings.Cut(group, "."); group == "internal" { // rbac.authorization is published as rbac
		group = "apiserverinternal"
	}
	return n.base + ".api." + group + "." + version + "." + name
}

// groupWord is the group's name in tags: "core", "apps", "rbacAuthorization".
func groupWord(p model.Profile, group string) string {
	if group == "" {
		return "core"
	}
	parts := strings.Split(strings.TrimSuffix(group, "."+p.GroupSuffix), ".")
	for i := range parts[1:] {
		parts[i+1] = upperFirst(parts[i+1])
	}
	return strings.Join(parts, "")
}

// operationWord is the group version's part of an operation id: "CoreV1".
func operationWord(p model.Profile, gv *model.GroupVersion) string {
	return upperFirst(groupWord(p, gv.Group)) + upperFirst(gv.Version)
}

// groupPath is the path under which a group version is served: "/api/v1",
// "/apis/apps/v1".
func groupPath(gv *model.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.Group + "/" + gv.Version
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
