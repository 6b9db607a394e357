package compare

import (
	"net/url"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Target is the target of a request, read from its method, path and headers.
type Target struct {
	Verb       string
	Resource   string // like deployments.apps or pods/status
	Collection string // path of the collection
	Object     string // path of the object, empty for a collection
}

// ownedByServer reports whether the object exists in every server, kept by a loop inside
// it: the managers of its fields are a matter of timing.
func (t Target) ownedByServer() bool {
	if t.Object == "" || strings.Contains(t.Object, "${NS}") {
		return false
	}
	for _, r := range []string{"apiservices.", "flowschemas.", "prioritylevelconfigurations."} {
		if strings.HasPrefix(t.Resource, r) {
			return true
		}
	}
	return false
}

// TargetOf reads the target of a step.
func TargetOf(st *scenario.Step) Target {
	u, err := url.Parse(st.Path)
	if err != nil {
		return Target{Verb: st.Method, Resource: "?"}
	}
	seg := strings.Split(strings.Trim(u.Path, "/"), "/")
	t := Target{Resource: strings.Trim(u.Path, "/")}
	group := ""
	rest := seg
	switch {
	case len(seg) >= 2 && seg[0] == "api":
		rest = seg[2:]
	case len(seg) >= 3 && seg[0] == "apis":
		group, rest = "."+seg[1], seg[3:]
	default:
		t.Verb = st.Method
		return t
	}
	prefix := "/" + strings.Join(seg[:len(seg)-len(rest)], "/")
	if len(rest) >= 3 && rest[0] == "namespaces" && rest[2] != "status" && rest[2] != "finalize" {
		prefix += "/" + strings.Join(rest[:2], "/")
		rest = rest[2:]
	}
	if len(rest) == 0 {
		t.Verb = st.Method
		return t
	}
	t.Resource, t.Collection = rest[0]+group, prefix+"/"+rest[0]
	if len(rest) > 1 {
		t.Object = t.Collection + "/" + rest[1]
	}
	if len(rest) > 2 {
		t.Resource += "/" + strings.Join(rest[2:], "/")
	}
	t.Verb = verb(st, t.Object != "")
	return t
}

func verb(st *scenario.Step, object bool) string {
	ct := ""
	for k, v := range st.Headers {
		if strings.EqualFold(k, "Content-Type") {
			ct = v
		}
	}
	switch st.Method {
	case "GET":
		switch {
		case st.Watch != nil:
			return "WATCH"
		case object:
			return "GET"
		}
		return "LIST"
	case "DELETE":
		if !object {
			return "DELETECOLLECTION"
		}
	case "PATCH":
		for _, k := range []string{"apply", "strategic-merge", "json-patch", "merge"} {
			if strings.Contains(ct, k) {
				return "PATCH-" + strings.TrimSuffix(strings.TrimSuffix(k, "-patch"), "-merge")
			}
		}
	case "PUT":
		return "PUT"
	}
	return st.Method
}
