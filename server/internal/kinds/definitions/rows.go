package definitions

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Rows makes rows of the catalog of accepted definitions. The schema of a version is
// compiled at its first use: of a thousand definitions most are never used.
type Rows struct {
	Meta  *Meta
	Scale api.Subresource // the body of scale, as built-in types have it
	// Converter makes the converter of a definition that has a webhook, from its spec.
	Converter func(spec document.Value) api.Converter
	// Since reports whether the release of the built-in kinds is a named one or a later one; nil for 1.25.
	Since func(release string) bool
}

const (
	everyVerb = api.VerbCreate | api.VerbDelete | api.VerbDeleteCollection | api.VerbGet | api.VerbList | api.VerbPatch | api.VerbUpdate | api.VerbWatch
	subVerbs  = api.VerbGet | api.VerbPatch | api.VerbUpdate
	// groupPriority is the priority of all groups of custom resources.
	groupPriority = 1000
)

// Of makes the rows of all versions of a definition: those that are not served are off.
// Names are the accepted ones. hash is one of everything that the rows are made of. The
// rows hold the text packed, and nothing else of it but what requests need all the time.
func (r *Rows) Of(packed Text, hash [32]byte) []*api.Resource {
	text := packed.Unpacked()
	whole, err := document.ReadStored(nil, schema.None, text)
	if err != nil {
		return nil
	}
	defer whole.Release()
	same, ruled := sameSchemas(whole.Root()), hasRules(text)
	d, err := withoutSchemas(whole.Root())
	if err != nil {
		return nil
	}
	defer d.Release()
	var all []*api.Resource
	for i := range d.Root().At("spec", "versions").Len() {
		res := r.row(d.Root(), i, packed)
		if res.Definition.Hash = hash; ruled {
			res.Definition.Rules = api.Make(res.Definition.Made, func() api.Rules { return rulesOf(packed, i) })
		}
		all = append(all, res)
	}
	r.link(all, d.Root().Get("spec"), same)
	return all
}

// row makes the row of a version.
func (r *Rows) row(d document.Value, i int, text Text) *api.Resource {
	spec, names := d.Get("spec"), d.At("status", "acceptedNames")
	version := spec.Get("versions").Index(i)
	gv := &api.GroupVersion{Group: spec.Get("group").Text(), Version: version.Get("name").Text(), GroupPriority: groupPriority}
	gv.VersionPriority = versionPriority(gv.Version)
	keep := spec.Get("preserveUnknownFields").Bool()
	made := &api.Made{}
	gv.Compile = api.Make(made, func() *schema.Table { return r.compile(gv, text, i, keep) })
	res := &api.Resource{GV: gv, Plural: names.Get("plural").Text(), Singular: names.Get("singular").Text(), Kind: names.Get("kind").Text(),
		ListKind:   names.Get("listKind").Text(),
		Namespaced: spec.Get("scope").Equals("Namespaced"), Stored: true, Verbs: everyVerb, ShortNames: names.Get("shortNames").Texts(),
		Categories:     names.Get("categories").Texts(),
		StorageVersion: gv.Version, HasGeneration: true, Writing: api.Writing{ConditionalUpdate: true},
		Checking: api.Checking{NameFormat: "dns1123-subdomain", AnyFinalizer: true, Checks: []api.Check{api.CheckMetadataChange, api.CheckObject}},
		Columns:  columns(version.Get("additionalPrinterColumns")), Selectable: selectable(version.Get("selectableFields")),
		Choice: api.Choice{Off: !version.Get("served").Bool()}}
	res.Definition = &api.Definition{Name: d.At("metadata", "name").Text(), UID: d.At("metadata", "uid").Text(),
		Terminating: isSet(d.At("metadata", "deletionTimestamp")), Made: made}
	if version.Get("deprecated").Bool() {
		res.Definition.Deprecated, res.Definition.Warning = true, deprecationWarning(spec, version, res.Kind)
	}
	res.Definition.Schema = func() []byte { return schemaText(text, i) }
	r.subresources(res, version.Get("subresources"))
	return res
}

// compile makes the table of a version.
func (r *Rows) compile(gv *api.GroupVersion, text Text, i int, keep bool) *schema.Table {
	doc, err := document.ReadStored(nil, schema.None, text.Unpacked())
	if err != nil {
		return r.Meta.Compile(gv.Group, gv.Version, document.Value{}, keep)
	}
	defer doc.Release()
	return r.Meta.Compile(gv.Group, gv.Version, doc.Root().At("spec", "versions").Index(i).At("schema", "openAPIV3Schema"), keep)
}

// rulesOf compiles the rules of a version.
func rulesOf(text Text, i int) api.Rules {
	doc, err := document.ReadStored(nil, schema.None, text.Unpacked())
	if err != nil {
		return nil
	}
	defer doc.Release()
	if rules := newRuleset(doc.Root().At("spec", "versions").Index(i).At("schema", "openAPIV3Schema"), nil); rules != nil {
		return rules
	}
	return nil
}

// schemaText is the schema of a version as JSON.
func schemaText(text Text, i int) []byte {
	doc, err := document.ReadStored(nil, schema.None, text.Unpacked())
	if err != nil {
		return nil
	}
	defer doc.Release()
	return doc.Root().At("spec", "versions").Index(i).At("schema", "openAPIV3Schema").AppendJSON(nil)
}

// metadataOfStatus are the fields of metadata that a write of the status does not change,
// in addition to the rest of the object.
var metadataOfStatus = [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"metadata", "finalizers"}, {"metadata", "ownerReferences"}}

func (r *Rows) subresources(res *api.Resource, subs document.Value) {
	if isSet(subs.Get("status")) {
		res.HasStatus = true
		status := api.Subresource{Name: "status", Endpoint: api.EndpointStatus, Verbs: subVerbs,
			Group: res.GV.Group, Version: res.GV.Version, Kind: res.Kind, Keeps: metadataOfStatus}
		if r.Since != nil && r.Since("1.36") {
			status.Unowned = [][]string{{"metadata"}}
		}
		res.Subresources = append(res.Subresources, status)
	}
	if scale := subs.Get("scale"); isSet(scale) {
		sub := r.Scale
		path := func(name string) []string {
			text := scale.Get(name).Text()
			if text == "" {
				return nil
			}
			return strings.Split(strings.TrimPrefix(text, "."), ".")
		}
		sub.Scale = &api.ScalePaths{SpecReplicas: path("specReplicasPath"), StatusReplicas: path("statusReplicasPath"), Selector: path("labelSelectorPath")}
		sub.MissingAs = api.GroupResource{}
		res.Subresources = append(res.Subresources, sub)
		paths := *sub.Scale
		res.Hooks = &api.Hooks{Validate: func(obj, _ document.Value) []schema.Cause { return scaleCauses(&paths, obj) }}
	}
}

// link connects the versions of one type with the version in which its objects are
// stored; same are those with the same schema as that one.
func (r *Rows) link(all []*api.Resource, spec document.Value, same []bool) {
	versions := spec.Get("versions")
	stored := -1
	for i, version := range versions.Elements() {
		if version.Get("storage").Bool() {
			stored = i
		}
	}
	if stored < 0 {
		return
	}
	to := all[stored]
	if to.StorageVersionHash = storageHash(to); len(all) == 1 {
		return
	}
	if spec.At("conversion", "strategy").Equals("Webhook") {
		r.linkRemotely(all, to, spec)
		return
	}
	for i, res := range all {
		res.StorageVersion, res.StorageVersionHash = to.GV.Version, storageHash(to)
		if i == stored {
			continue
		}
		res.Conversion = &api.Conversion{Group: to.GV.Group, Version: to.GV.Version, Plural: to.Plural, Storage: to}
		if same[i] {
			res.Conversion.Same, res.GV.Compile = true, to.GV.Compile
			res.Definition.Rules = to.Definition.Rules
		} else {
			res.Conversion.Reread, res.Conversion.Fills = true, true
		}
	}
}

// linkRemotely connects versions that a webhook converts. Stored objects stay in the
// version in which they were written, so the storage version has a conversion too.
func (r *Rows) linkRemotely(all []*api.Resource, to *api.Resource, spec document.Value) {
	by := r.Converter(spec)
	for _, res := range all {
		res.StorageVersion, res.StorageVersionHash = to.GV.Version, storageHash(to)
		res.Conversion = &api.Conversion{Group: to.GV.Group, Version: to.GV.Version, Plural: to.Plural, Storage: to, Remote: by, Fills: true}
	}
}

// storageHash identifies the storage version to clients.
func storageHash(to *api.Resource) string {
	sum := sha256.Sum256([]byte(to.GV.Group + "/" + to.GV.Version + "/" + to.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// deprecationWarning is the warning for users of a deprecated version: the text of the
// definition, or which version to use instead.
func deprecationWarning(spec, version document.Value, kind string) string {
	if text := version.Get("deprecationWarning"); isSet(text) {
		return text.Text()
	}
	group, name := spec.Get("group").Text(), version.Get("name").Text()
	var better []string
	for _, other := range spec.Get("versions").Elements() {
		if other.Get("served").Bool() && !other.Get("deprecated").Bool() && compareVersions(other.Get("name").Text(), name) < 0 {
			better = append(better, other.Get("name").Text())
		}
	}
	text := group + "/" + name + " " + kind + " is deprecated"
	if len(better) > 0 {
		slices.SortFunc(better, compareVersions)
		text += "; use " + group + "/" + better[0] + " " + kind
	}
	return text
}
