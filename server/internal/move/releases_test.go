package move

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// laterObjects are objects of 1.36 that 1.25 does not have, or not whole, by their paths; and their places in etcd with the version in which kube-apiserver
// 1.36 keeps them.
var laterObjects = []struct{ path, name, members, place, stored string }{
	{"/apis/networking.k8s.io/v1/servicecidrs", "cidr", `"spec":{"cidrs":["10.9.0.0/24"]}`, "/servicecidrs/cidr", "networking.k8s.io/v1"},
	{"/apis/resource.k8s.io/v1/deviceclasses", "class", `"spec":{"extendedResourceName":"example.com/a"}`, "/deviceclasses/class", "resource.k8s.io/v1"},
	{"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "claim", `"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"class"}}]}}`,
		"/resourceclaims/default/claim", "resource.k8s.io/v1"},
	{"/apis/storage.k8s.io/v1/volumeattributesclasses", "fast", `"driverName":"example.com","parameters":{"a":"b"}`, "/volumeattributesclasses/fast", "storage.k8s.io/v1"},
	{"/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates", "web", `"spec":{"leaseName":"web","binaryVersion":"1.36.0","strategy":"example.com/a"}`,
		"/leasecandidates/default/web", "coordination.k8s.io/v1beta1"},
	{"/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations", "again", `"spec":{"resource":{"group":"apps","resource":"deployments"}}`,
		"/storageversionmigrations/again", "storagemigration.k8s.io/v1beta1"},
	{"/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings", "bound", `"spec":{"policyName":"p"}`,
		"/mutatingadmissionpolicybindings/bound", "admissionregistration.k8s.io/v1"},
	{"/apis/policy/v1/namespaces/default/poddisruptionbudgets", "budget", `"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}`,
		"/poddisruptionbudgets/default/budget", "policy/v1"},
}

// later starts a server of 1.36 on a data directory.
func later(t *testing.T, dir string) *harness.Server {
	t.Helper()
	return harness.Start(t, func(c *server.Config) {
		c.InMemory, c.DataDir, c.EmulatedVersion = false, dir, []string{"1.36"}
		c.RuntimeConfig, c.FeatureGates = []string{"api/beta=true"}, []string{"StorageVersionMigrator=true", "DRAExtendedResource=true"}
	})
}

// TestMoveOfAnotherRelease: the objects of a server of 1.36 move to etcd, where they lie as kube-apiserver 1.36 keeps them, and back, also through the API;
// without the release its kinds are named and left out.
func TestMoveOfAnotherRelease(t *testing.T) {
	dir, to, old := t.TempDir(), etcdtest.Start(t), etcdtest.Start(t)
	want := map[string]map[string]any{}
	read := func(h *harness.Server, into map[string]map[string]any) {
		for _, o := range laterObjects {
			object := map[string]any{}
			if err := json.Unmarshal(h.Get(o.path+"/"+o.name).Body, &object); err != nil {
				h.T.Fatal(err)
			}
			into[o.name] = object
		}
	}
	fromServer := t.TempDir()
	t.Run("made", func(t *testing.T) {
		h := later(t, dir)
		for _, o := range laterObjects {
			h.Create(o.path, `{"metadata":{"name":"`+o.name+`"},`+o.members+`}`)
		}
		read(h, want)
		_, flags := access(t, h)
		succeeds(t, append(flags, "--from-server="+h.Running.URL(), "--emulated-version=1.36", "--data-dir="+fromServer)...)
	})
	if out := succeeds(t, "export", "--to-etcd="+to, "--emulated-version=1.36", "--data-dir="+dir); strings.Contains(out, "is left out") {
		t.Errorf("export: %s", out)
	}
	code, out, stderr := command("export", "--to-etcd="+old, "--data-dir="+dir)
	for _, o := range laterObjects[:len(laterObjects)-2] { // 1.25 here has the kinds of the last ones
		if resource := strings.Split(o.place, "/")[1]; !strings.Contains(out, "/"+resource+" is left out, with ") {
			t.Errorf("%s are not named: %d: %s%s", resource, code, out, stderr)
		}
	}
	c := etcdtest.Client(t, to)
	for _, o := range laterObjects {
		r, err := c.Get(t.Context(), "/registry"+o.place)
		if err != nil || len(r.Kvs) != 1 || !strings.Contains(string(r.Kvs[0].Value), o.stored) {
			t.Errorf("%s: %v %v", o.place, r, err)
		}
	}
	fromEtcd := t.TempDir()
	succeeds(t, "import", "--from-etcd="+to, "--emulated-version=1.36", "--data-dir="+fromEtcd)
	for name, dir := range map[string]string{"from etcd": fromEtcd, "from a server": fromServer} {
		t.Run(name, func(t *testing.T) {
			got := map[string]map[string]any{}
			read(later(t, dir), got)
			for _, o := range laterObjects {
				for _, member := range []string{"spec", "driverName", "parameters", "apiVersion"} {
					if !reflect.DeepEqual(got[o.name][member], want[o.name][member]) {
						t.Errorf("%s: %s is %v, want %v", o.name, member, got[o.name][member], want[o.name][member])
					}
				}
				if a, b := got[o.name]["metadata"].(map[string]any)["uid"], want[o.name]["metadata"].(map[string]any)["uid"]; a != b || a == nil {
					t.Errorf("%s: uid %v, want %v", o.name, a, b)
				}
			}
		})
	}
}
