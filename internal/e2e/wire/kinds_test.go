// Package wire checks the binary form against the Go types of k8s.io/api: a message from
// a Go client is read as the JSON that it would have sent, and our binary form is read as
// the object of our JSON. It covers every kind of the catalog; a new group version needs
// no line here. It also compares strategic merge patches by the tags of the same Go
// types.
package wire

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/schema"
)

// noHooks and noConversions have every method and run none: the catalog only binds
// them.
type (
	noHooks       struct{ catalog.Hooks }
	noConversions struct{ catalog.Conversions }
)

// unknownToGo lists kinds that the Go types do not have, and why.
var unknownToGo = map[string]string{
	"networking.k8s.io/v1alpha1 ClusterCIDR":                         "it was withdrawn after 1.25",
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicy":        "it is stable since 1.36",
	"admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding": "it is stable since 1.36",
}

// kind is one kind in both worlds.
type kind struct {
	gvk    gvschema.GroupVersionKind
	typ    schema.Ref
	table  *schema.Table
	binary *codec.BinaryCodec
	plain  *document.Decoder // decodes without defaults, which Go does not know
}

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	metav1.AddToGroupVersion(s, gvschema.GroupVersion{Version: "v1"})
	return s
}

// world is everything a test needs: the scheme, its binary serializer, and the
// kinds of the catalog that both sides have.
type world struct {
	scheme *runtime.Scheme
	binary *protobuf.Serializer
	kinds  []kind
	groups []*api.GroupVersion
}

func newWorld(t testing.TB) *world {
	t.Helper()
	s := newScheme(t)
	w := &world{scheme: s, binary: protobuf.NewSerializer(s, s), groups: catalog.New(noHooks{}, noConversions{})}
	for _, gv := range w.groups {
		w.add(gv.Table, gvschema.GroupVersion{Group: gv.Group, Version: gv.Version})
		for _, r := range gv.Resources {
			for _, sub := range r.Subresources {
				w.add(sub.Table, gvschema.GroupVersion{Group: sub.Group, Version: sub.Version})
			}
		}
	}
	w.add(catalog.Meta(), gvschema.GroupVersion{Version: "v1"})
	w.add(catalog.Meta(), metav1.SchemeGroupVersion)
	return w
}

// add takes the types of a table that Go knows as kinds, unless they are known
// already or the table is nil. A WatchEvent travels in frames: see frame_test.go.
func (w *world) add(table *schema.Table, gv gvschema.GroupVersion) {
	if table == nil {
		return
	}
	plain := &document.Decoder{Table: withoutDefaults(table)}
	binary := codec.NewBinary(table)
	for _, root := range table.Roots {
		gvk := gv.WithKind(root.Name)
		if _, known := w.find(gvk); !known && root.Name != "WatchEvent" && hasBinaryForm(w.scheme, gvk) {
			w.kinds = append(w.kinds, kind{gvk, root.Type, table, binary, plain})
		}
	}
}

// hasBinaryForm leaves out the types that are not kinds.
func hasBinaryForm(s *runtime.Scheme, gvk gvschema.GroupVersionKind) bool {
	object, err := s.New(gvk)
	if err != nil {
		return false
	}
	_, ok := object.(interface{ Marshal() ([]byte, error) })
	return ok
}

func (w *world) find(gvk gvschema.GroupVersionKind) (kind, bool) {
	i := slices.IndexFunc(w.kinds, func(k kind) bool { return k.gvk == gvk })
	if i < 0 {
		return kind{}, false
	}
	return w.kinds[i], true
}

// withoutDefaults copies a table, the defaults of its fields left out.
func withoutDefaults(t *schema.Table) *schema.Table {
	c := *t
	c.Types = slices.Clone(t.Types)
	for i := range c.Types {
		fields := slices.Clone(c.Types[i].Fields)
		for k := range fields {
			fields[k].Default = ""
		}
		c.Types[i].Fields, c.Types[i].Hook = fields, 0
	}
	return &c
}

// TestEveryKindIsKnown fails for a kind of the catalog, the body of a
// subresource included, that no test here would look at.
func TestEveryKindIsKnown(t *testing.T) {
	w := newWorld(t)
	for _, gv := range w.groups {
		for _, r := range gv.Resources {
			w.expectKnown(t, gv.Group, gv.Version, r.Kind)
			for _, sub := range r.Subresources {
				if sub.Kind != "" {
					w.expectKnown(t, sub.Group, sub.Version, sub.Kind)
				}
			}
		}
	}
	for _, name := range []string{"Status", "DeleteOptions", "CreateOptions", "APIGroupList", "APIResourceList"} {
		w.expectKnown(t, "", "v1", name)
	}
	t.Logf("%d kinds", len(w.kinds))
}

func (w *world) expectKnown(t *testing.T, group, version, name string) {
	t.Helper()
	gvk := gvschema.GroupVersionKind{Group: group, Version: version, Kind: name}
	_, known := w.find(gvk)
	why := unknownToGo[gvk.GroupVersion().String()+" "+name]
	switch {
	case !known && why == "":
		t.Errorf("%s is not compared with a Go type: add its Go package to the scheme", gvk)
	case known && why != "":
		t.Errorf("%s is compared with a Go type: remove it from the exceptions", gvk)
	}
}
