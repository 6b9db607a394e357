package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// succession is of two servers that go on with the same objects.
type succession struct {
	want, got *side
	objects   objectsOf
	found     map[string][]string // differences, in groups
}

// plain is a body without what differs between servers that do the same.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			switch {
			case key == "resourceVersion", key == "time" && v["manager"] != nil:
				delete(v, key)
				continue
			case key == "deletionTimestamp" && inner != nil:
				inner = "now"
			}
			v[key] = plain(inner)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return value
}

// differs are the paths at which two bodies differ.
func differs(path string, a, b any, visit func(path string, a, b any)) {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for key := range keys {
				differs(path+"."+key, x[key], y[key], visit)
			}
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				differs(path+"[]", x[i], y[i], visit)
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		visit(path, a, b)
	}
}

// settle waits until both servers have made what they make at their start: the registration of a version
// is among the last.
func (c *succession) settle() {
	for _, s := range []*side{c.want, c.got} {
		s.awaitKind("/readyz/poststarthook/rbac/bootstrap-roles")
		gone := "/apis/apiregistration.k8s.io/v1/apiservices/v1.resource.k8s.io"
		for end := time.Now().Add(30 * time.Second); s.ask("GET", gone, "", nil).code != 404; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				s.t.Errorf("%s stays", gone)
				break
			}
		}
	}
}

// reads compares the objects one by one, and in lists.
func (c *succession) reads() {
	for _, k := range c.want.kinds(false) {
		group := "GET " + k.apiVersion + " " + k.Name
		a, b := c.want.ask("GET", k.at("", ""), "", nil), c.got.ask("GET", k.at("", ""), "", nil)
		if a.code != b.code {
			c.answers(group, k.at("", ""), a, b)
			continue
		}
		all, others := byName(a), byName(b)
		for _, o := range c.objects[k.id] {
			c.bodies(group+" in a list", k.at(o.namespace, o.name), all[o], others[o])
			path := k.at(o.namespace, o.name)
			c.answers(group, path, c.want.ask("GET", path, "", nil), c.got.ask("GET", path, "", nil))
		}
	}
}

// byName are the items of a list.
func byName(list answered) map[objectName]any {
	all := map[objectName]any{}
	items, _ := list.body["items"].([]any)
	for _, item := range items {
		meta, _ := item.(map[string]any)["metadata"].(map[string]any)
		namespace, _ := meta["namespace"].(string)
		name, _ := meta["name"].(string)
		all[objectName{namespace, name}] = item
	}
	return all
}

// updates writes each object back as it is.
func (c *succession) updates() {
	for _, k := range c.want.kinds(true) {
		for _, o := range c.objects[k.id] {
			path := k.at(o.namespace, o.name)
			write := func(s *side) (a answered) {
				raw, err := s.client.RESTClient().Get().AbsPath(path).Do(s.x.ctx).Raw()
				if err != nil {
					return a
				}
				return s.ask("PUT", path, "application/json", raw)
			}
			c.answers("PUT "+k.apiVersion+" "+k.Name, path, write(c.want), write(c.got))
		}
	}
}

// deletions changes each object, and deletes it.
func (c *succession) deletions() {
	change := []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`)
	for _, k := range c.want.kinds(true) {
		for _, o := range c.objects[k.id] {
			path, kind := k.at(o.namespace, o.name), k.apiVersion+" "+k.Name
			patch := func(s *side) answered { return s.ask("PATCH", path, "application/merge-patch+json", change) }
			a, b := patch(c.want), patch(c.got)
			c.answers("PATCH "+kind, path, a, b)
			if a.code != b.code || o.namespace != laterSpace {
				continue // the objects differ from now on, or are needed
			}
			c.answers("DELETE "+kind, path, c.want.ask("DELETE", path, "", nil), c.got.ask("DELETE", path, "", nil))
		}
	}
}

// values compares what both etcds have under the keys of the later release.
func (c *succession) values(before []*mvccpb.KeyValue) {
	read := func(s *side) map[string][]byte {
		all := map[string][]byte{}
		for _, kv := range pairs(s.t, s.etcd) {
			all[string(kv.Key)] = kv.Value
		}
		return all
	}
	a, b := read(c.want), read(c.got)
	for _, kv := range before {
		place := string(kv.Key)
		x, y := a[place], b[place]
		if bytes.HasPrefix(x, []byte("k8s:enc:")) && bytes.HasPrefix(y, x[:16]) && len(x) == len(y) {
			continue // the rest is random
		}
		if !bytes.Equal(x, y) {
			c.note("value of "+place, place, "%d and %d bytes, before %d\n%q\n%q", len(x), len(y), len(kv.Value), x, y)
		}
	}
}

// answers compares two answers; of refusals the status only, since tools/differ compares what they say.
func (c *succession) answers(group, path string, a, b answered) {
	if a.code != b.code {
		c.note(fmt.Sprintf("%s: %d, got %d", group, a.code, b.code), path, "%.300s, got %.300s", a, b)
		return
	}
	if a.code < 400 {
		c.bodies(group, path, a.body, b.body)
	}
}

func (c *succession) bodies(group, path string, a, b any) {
	differs("", plain(a), plain(b), func(at string, a, b any) {
		c.note(group+" "+at, path, "%.300v, got %.300v", a, b)
	})
}

// note keeps a difference that is not decided.
func (c *succession) note(group, path, format string, arguments ...any) {
	for _, d := range decided {
		if d.difference.MatchString(group + " " + path) {
			return
		}
	}
	c.found[group] = append(c.found[group], path+": "+fmt.Sprintf(format, arguments...))
}

// decided are the differences that have a reason.
var decided = []struct {
	difference *regexp.Regexp
	reason     string
}{
	{regexp.MustCompile(`flowcontrol\.apiserver|flowschemas/|prioritylevelconfigurations/`), "this server has their v1, which 1.25 cannot read: its lists end in errors, and it is never ready"},
	{regexp.MustCompile(`matchConditions|selectableFields|messageExpression|\.reason|fieldPath|optionalOldSelf|webhookconfiguration-3$|definitions/boats`), "newer than 1.25: docs/explanation/differences.md"},
	{regexp.MustCompile(`[vV]olumeAttributesClassName|modifyVolumeStatus|persistentvolume(claim)?s/(later/)?persistentvolume`), "newer than 1.25: the class of a volume's attributes"},
	{regexp.MustCompile(`f:dataSourceRef`), "granular owners of what is atomic in 1.25 become owners of the whole with the next apply, not with an update"},
	{regexp.MustCompile(`(PUT|PATCH) .*: 422, got 200`), "what an update does not touch is not checked again"},
	{regexp.MustCompile(`roles? \.rules|roles/`), "missing rights of bootstrap roles are added as whole rules, not one by one"},
	{regexp.MustCompile(`/pod-of-unknown-parts$`), "1.25 refuses every update of it"},
	{regexp.MustCompile(`/registry/ranges/`), "this server takes the addresses of services from them, and repairs the allocations some minutes after its start"},
	{regexp.MustCompile(`componentstatuses`), "they show what the cluster has"},
	{regexp.MustCompile(`/kubernetes$|/extension-apiserver-authentication$`), "each server writes its own address, port and authorities there"},
}

// report fails the test with everything that is found.
func (c *succession) report() {
	c.got.t.Helper()
	for _, group := range slices.Sorted(maps.Keys(c.found)) {
		c.got.t.Errorf("%d times %s: %s", len(c.found[group]), group, c.found[group][0])
	}
}
