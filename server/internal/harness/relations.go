package harness

import (
	"fmt"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// The collections of an API with references: trucks name their depot and yard in data, and lists of parts in data, too.
const (
	Fleet  = "/apis/fleet.example.com/v1/"
	Depots = Fleet + "namespaces/default/depots"
	Trucks = Fleet + "namespaces/default/trucks"
	Yards  = Fleet + "yards" // outside of namespaces
)

// FleetAPI is an API whose trucks have references and the hooks, and may be selected by data.depot. All kinds have the fields
// of a ConfigMap.
func FleetAPI(hooks *api.Hooks, references ...api.Reference) *api.API {
	return &api.API{Groups: func() []*api.GroupVersion {
		own := &api.GroupVersion{Group: "fleet.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		for _, gv := range generated.New(policy.Policy{}, conversion.Hooks{}) {
			if gv.APIVersion() != "v1" {
				continue
			}
			for _, k := range []struct{ plural, kind string }{{"depots", "Depot"}, {"trucks", "Truck"}, {"yards", "Yard"}} {
				row := ownRow(own, gv, "configmaps")
				row.Plural, row.Kind, row.ListKind, row.Namespaced = k.plural, k.kind, k.kind+"List", k.plural != "yards"
				row.Listed, row.Restricted = k.plural == "trucks", k.plural != "trucks"
				if k.plural == "trucks" {
					row.Hooks, row.References = hooks, references
					row.Selectable = []api.Selectable{{Name: "data.depot", Path: []string{"data", "depot"}}}
					row.Reads = []api.ReadKind{{GroupResource: ofFleet("trucks"), Kind: "Truck", Own: true}, {GroupResource: ofFleet("depots"), Kind: "Depot", Own: true},
						{GroupResource: api.GroupResource{Resource: "configmaps"}, Kind: "ConfigMap"}}
				}
			}
		}
		return []*api.GroupVersion{own}
	}}
}

func ofFleet(plural string) api.GroupResource {
	return api.GroupResource{Group: "fleet.example.com", Resource: plural}
}

// RefersTo is a reference of the trucks at a path in their data.
func RefersTo(plural, kind, field string, missing api.OnMissing, deleted api.OnDelete) api.Reference {
	return api.Reference{Path: []string{"data", field}, GroupResource: ofFleet(plural), Kind: kind, Missing: missing, OnDelete: deleted}
}

// Named is an object of the fleet in JSON, with members of data.
func Named(name, data string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"data":{%s}}`, name, data)
}

// OnEachEngine runs a test with servers that share a store, and that run some controllers: one on the embedded engine, two on one etcd.
func OnEachEngine(t *testing.T, own func() *api.API, test func(t *testing.T, servers []*Server), controllers ...string) {
	of := func(c *server.Config) {
		if c.API = own(); len(controllers) > 0 {
			c.Controllers = controllers
		}
	}
	t.Run("embedded", func(t *testing.T) {
		test(t, []*Server{Start(t, of)})
	})
	t.Run("etcd", func(t *testing.T) {
		url := Etcd(t)
		var all []*Server
		for range 2 {
			all = append(all, Start(t, func(c *server.Config) {
				of(c)
				OnEtcd(c, url, "/registry")
			}))
		}
		test(t, all)
	})
}

// AtOnce runs n functions at the same time.
func AtOnce(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}
