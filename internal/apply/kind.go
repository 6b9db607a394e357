package apply

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Kind is a kind of object in one version, as ownership needs it. It does not change and
// is safe for concurrent use.
type Kind struct {
	Table      *schema.Table // from Merging
	Type       schema.Ref
	APIVersion string // "apps/v1"
	Name       string // "Deployment"
	Versions   Versions
}

// Versions converts between the versions of a kind. A Kind without one has only
// its own version: entries of others are dropped.
type Versions interface {
	// Convert converts obj from version from to version to, with the type it has there.
	// ok is false if the kind does not have version to (any more). The caller releases
	// documents that it makes; obj itself is not one.
	Convert(obj document.Value, from, to string) (doc *document.Document, ok bool, err error)
	// Type is the type of the kind in a version that Convert knows, in a table
	// from Merging.
	Type(version string) (*schema.Table, schema.Ref)
}

// Write describes a write: its manager and endpoint.
type Write struct {
	Manager     string // see ManagerName
	Subresource string // "status"; "" for the object itself
	Time        string // now: RFC 3339, UTC, whole seconds
	// Reset holds the fields that this endpoint does not write, even if they are sent:
	// status on the object itself, everything else on its status.
	Reset Set
	// Lists is set from 1.29 on: another order of the elements of a list is a change that an apply makes, and elements of
	// a list that repeat have owners.
	Lists bool
}

// gvk is the kind in messages.
func (k *Kind) gvk() string {
	if strings.Contains(k.APIVersion, "/") {
		return k.APIVersion + ", Kind=" + k.Name
	}
	return "/" + k.APIVersion + ", Kind=" + k.Name
}

func (k *Kind) grammar() grammar { return grammar{table: k.Table} }

// neverOwned are the paths that no manager owns.
var neverOwned = NewSet(
	[]string{"apiVersion"}, []string{"kind"}, []string{"metadata"},
	[]string{"metadata", "name"}, []string{"metadata", "namespace"}, []string{"metadata", "creationTimestamp"},
	[]string{"metadata", "selfLink"}, []string{"metadata", "uid"}, []string{"metadata", "clusterName"},
	[]string{"metadata", "generation"}, []string{"metadata", "managedFields"}, []string{"metadata", "resourceVersion"},
)

// view is an object, or two, in one of the kind's versions.
type view struct {
	grammar
	typ      schema.Ref
	old, new document.Value
	docs     []*document.Document
}

func (v *view) release() {
	for _, doc := range v.docs {
		doc.Release()
	}
}

// view converts objects to another version. It is nil if the kind does not have that
// version.
func (k *Kind) view(version string, objs ...document.Value) (*view, error) {
	v := &view{grammar: k.grammar(), typ: k.Type}
	out := make([]document.Value, len(objs))
	if version == k.APIVersion {
		copy(out, objs)
	} else {
		if k.Versions == nil {
			return nil, nil
		}
		for i, obj := range objs {
			if !obj.Exists() {
				continue
			}
			doc, ok, err := k.Versions.Convert(obj, k.APIVersion, version)
			if err != nil || !ok {
				v.release()
				if err != nil {
					err = fmt.Errorf("convert to %s to compare what managers own: %w", version, err)
				}
				return nil, err
			}
			v.docs = append(v.docs, doc)
			out[i] = doc.Root()
		}
		v.table, v.typ = k.Versions.Type(version)
	}
	v.old = out[0]
	if len(out) > 1 {
		v.new = out[1]
	}
	return v, nil
}

func itoa(n int) string { return strconv.Itoa(n) }

// quoteShort quotes a client's text, shortened.
func quoteShort(s string) string {
	if len(s) > 256 {
		s = s[:256] + "…"
	}
	return strconv.Quote(s)
}

// MainReset are the fields that a write of the object itself does not change: the status,
// if the kind has an endpoint for it.
func MainReset(hasStatus bool) Set {
	if !hasStatus {
		return Set{}
	}
	return NewSet([]string{"status"})
}

// StatusReset are the fields that a write of the status does not change: everything but
// metadata, and the given paths of metadata. Make it once for each kind.
func (k *Kind) StatusReset(metadata [][]string) Set {
	paths := slices.Clone(metadata)
	t := k.grammar().typeOf(k.Type)
	if t == nil {
		return Set{}
	}
	for i := range t.Fields {
		switch name := t.Fields[i].Name; name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			paths = append(paths, []string{name})
		}
	}
	return NewSet(paths...)
}
