package registry

import (
	stdslices "slices"
	"sync"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The members of a topology for which discovery/v1 has fields.
const (
	zoneLabel = "topology." + profile.LabelDomain + "/zone"
	hostLabel = profile.LabelDomain + "/hostname"
)

// sliceForm is the form of endpoint slices in discovery/v1beta1, where the zone of an
// endpoint and its node are members of its topology.
func sliceForm() *older {
	var once sync.Once
	var binary *codec.BinaryCodec
	return &older{version: "v1beta1",
		binary: func(row *catalog.Row) *codec.BinaryCodec {
			once.Do(func() { binary = codec.NewBinary(sliceTable(row.GV.Types())) })
			return binary
		},
		encode: func(row *catalog.Row, text []byte) ([]byte, error) {
			doc, err := document.ReadStored(row.GV.Types(), row.Type, text)
			if err != nil {
				return nil, err
			}
			defer doc.Release()
			for _, e := range doc.Root().Get("endpoints").Elements() {
				intoTopology(e)
			}
			return doc.Root().AppendJSON(nil), nil
		},
		text: func(root document.Value) {
			for _, e := range root.Get("endpoints").Elements() {
				if topology := e.Get("deprecatedTopology"); topology.Exists() {
					e.Put("topology", topology)
					e.Remove("deprecatedTopology")
				}
			}
		},
		decode: func(text []byte) ([]byte, error) {
			return edited(text, func(root document.Value) error {
				for _, e := range root.Get("endpoints").Elements() {
					fromTopology(e)
				}
				return nil
			})
		},
	}
}

// sliceTable is the table of discovery/v1 with the binary numbers of discovery/v1beta1.
func sliceTable(v1 *schema.Table) *schema.Table {
	t := *v1
	t.Types = stdslices.Clone(t.Types)
	for i := range t.Types {
		fields := t.Types[i].Fields
		if zone := t.Types[i].Field("zone"); zone >= 0 && t.Types[i].Field("deprecatedTopology") >= 0 {
			fields = stdslices.Clone(fields)
			fields[t.Types[i].Field("hints")].Number = fields[zone].Number
			fields[zone].Number = 0
			t.Types[i].Fields = fields
		}
	}
	return &t
}

// intoTopology moves the zone of an endpoint into its topology, and copies its node there.
func intoTopology(e document.Value) {
	set := func(label string, v document.Value) {
		e.SetObject("deprecatedTopology").Put(label, v)
	}
	if zone := e.Get("zone"); zone.Exists() {
		set(zoneLabel, zone)
		e.Remove("zone")
	}
	if node := e.Get("nodeName"); node.Exists() && !e.At("deprecatedTopology", hostLabel).Exists() {
		set(hostLabel, node)
	}
}

// fromTopology is the way back. A node that differs from the endpoint's stays in the
// topology.
func fromTopology(e document.Value) {
	for _, name := range [...]string{"topology", "deprecatedTopology"} { // in JSON and in the binary form
		topology := e.Get(name)
		if topology.Kind() != document.Object {
			continue
		}
		if zone := topology.Get(zoneLabel); zone.Exists() {
			e.Put("zone", zone)
			topology.Remove(zoneLabel)
		}
		if node := e.Get("nodeName"); node.Exists() && topology.Get(hostLabel).Equals(node.Text()) {
			topology.Remove(hostLabel)
		}
		e.Put("deprecatedTopology", topology)
	}
}
