package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	migrationsBeta  = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
	migrationsAlpha = "/apis/storagemigration.k8s.io/v1alpha1/storageversionmigrations"
)

// migrating starts a server of a release with the controller of migrations.
func migrating(t *testing.T, release string, change func(*server.Config)) *harness.Server {
	t.Helper()
	return harness.Start(t, func(c *server.Config) {
		c.Controllers = []string{"storage-version-migrator-controller"}
		c.EmulatedVersion, c.FeatureGates = []string{release}, []string{"StorageVersionMigrator=true"}
		c.RuntimeConfig = []string{"storagemigration.k8s.io/v1alpha1=true"}
		if release >= "1.35" {
			c.RuntimeConfig = []string{"storagemigration.k8s.io/v1beta1=true"}
		}
		if change != nil {
			change(c)
		}
	})
}

// order orders a migration of a resource.
func order(h *harness.Server, path, name, group, version, resource string) {
	h.T.Helper()
	kind := strings.TrimPrefix(strings.TrimSuffix(path, "/storageversionmigrations"), "/apis/")
	h.Create(path, fmt.Sprintf(`{"apiVersion":%q,"kind":"StorageVersionMigration","metadata":{"name":%q},"spec":{"resource":{"group":%q,"resource":%q%s}}}`,
		kind, name, group, resource, version))
}

// saying awaits the conditions of a migration, "Type=Status reason".
func saying(h *harness.Server, path, name string, want ...string) harness.Contents {
	h.T.Helper()
	return h.Await(path, func(o harness.Contents) bool {
		for _, one := range want {
			if !strings.Contains(harness.Conditions(o, name), one) {
				return false
			}
		}
		return o[name] != nil
	})
}

// said is the message of a condition.
func said(o harness.Contents, name, condition string) any {
	list, _ := o.In(name, "status.conditions").([]any)
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == condition {
			return c["message"]
		}
	}
	return nil
}

// TestMigrationEncrypts: a migration writes the secrets that are not encrypted with the present key, and no other object;
// another one afterwards writes nothing. Watchers see each rewritten object once.
func TestMigrationEncrypts(t *testing.T) {
	dir := t.TempDir()
	const secrets = "/api/v1/namespaces/default/secrets"
	onDisk := func(keys string) func(c *server.Config) {
		return func(c *server.Config) {
			c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, harness.EncryptionConfig(t, harness.AESKeys(keys))
		}
	}
	before := harness.Contents{}
	t.Run("before", func(t *testing.T) {
		h := migrating(t, "1.36", onDisk("1"))
		for n := range 20 {
			h.Create(secrets, fmt.Sprintf(`{"metadata":{"name":"s%d"},"data":{"a":"YQ=="}}`, n))
		}
		h.Create(harness.ConfigMaps, harness.ConfigMap("other", `{"a":"b"}`))
		before = h.Await(secrets, func(harness.Contents) bool { return true })
	})
	t.Run("with both keys", func(t *testing.T) {
		h := migrating(t, "1.36", onDisk("21"))
		other := h.Get(harness.ConfigMaps+"/other").Field(t, "metadata.resourceVersion")
		order(h, migrationsBeta, "first", "", "", "secrets")
		done := saying(h, migrationsBeta, "first", "Succeeded=True StorageVersionMigrationSucceeded", "Running=False MigrationCompleted")
		after := h.Await(secrets, func(harness.Contents) bool { return true })
		for name := range before {
			if was, is := before.In(name, "metadata.resourceVersion"), after.In(name, "metadata.resourceVersion"); was == is {
				t.Errorf("%s was not rewritten", name)
			}
			if fmt.Sprint(before.In(name, "metadata.managedFields"), before.In(name, "data")) != fmt.Sprint(after.In(name, "metadata.managedFields"), after.In(name, "data")) {
				t.Errorf("%s has changed: %v, before %v", name, after[name], before[name])
			}
		}
		if now := h.Get(harness.ConfigMaps+"/other").Field(t, "metadata.resourceVersion"); now != other {
			t.Errorf("an object of another resource was rewritten: %v, before %v", now, other)
		}
		if done.In("first", "status.resourceVersion") == nil {
			t.Error("the migration does not say up to which state it is")
		}
		w := h.Watch(secrets + "?watch=1&resourceVersion=" + fmt.Sprint(h.Get(secrets).Field(t, "metadata.resourceVersion")))
		order(h, migrationsBeta, "second", "", "", "secrets")
		saying(h, migrationsBeta, "second", "Succeeded=True", "Running=False")
		h.Create(secrets, `{"metadata":{"name":"last"}}`)
		w.Expect("ADDED last")
	})
	t.Run("with the new key", func(t *testing.T) {
		h := migrating(t, "1.36", onDisk("2"))
		h.Get(secrets+"/s7").Expect(t, http.StatusOK, "")
	})
}

// TestMigrationOfCustomObjects: objects of a definition with another storage version are stored in that one, and the definition says so.
func TestMigrationOfCustomObjects(t *testing.T) {
	h := migrating(t, "1.36", nil)
	versions := func(storage string) string {
		var all []string
		for _, name := range []string{"v1", "v2"} {
			all = append(all, fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`, name, name == storage))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	const name = "gauges.lab.example.com"
	h.Create(harness.DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"group":"lab.example.com","scope":"Namespaced","names":{"plural":"gauges","kind":"Gauge"},"versions":%s}}`, name, versions("v1")))
	const gauges = "/apis/lab.example.com/v1/namespaces/default/gauges"
	h.AwaitCode(gauges, http.StatusOK)
	for n := range 5 {
		h.Create(gauges, harness.Gauge("v1", fmt.Sprint("g", n), ""))
	}
	before := h.Await(gauges, func(harness.Contents) bool { return true })
	h.Merge(harness.DefinitionsPath+"/"+name, `{"spec":{"versions":`+versions("v2")+`}}`).Expect(t, http.StatusOK, "")
	h.AwaitStorage("v2")
	h.Create("/apis/lab.example.com/v2/namespaces/default/gauges", harness.Gauge("v2", "new", ""))
	order(h, migrationsBeta, "gauges", "lab.example.com", "", "gauges")
	saying(h, migrationsBeta, "gauges", "Succeeded=True", "Running=False MigrationCompleted")
	after := h.Await(gauges, func(harness.Contents) bool { return true })
	for g := range before {
		if before.In(g, "metadata.resourceVersion") == after.In(g, "metadata.resourceVersion") {
			t.Errorf("%s was not rewritten", g)
		}
	}
	definition := saying(h, harness.DefinitionsPath, name, "StorageMigrating=False MigrationSucceeded")
	if got := fmt.Sprint(definition.In(name, "status.storedVersions")); got != "[v2]" {
		t.Errorf("stored versions %s", got)
	}
	if got := said(definition, name, "StorageMigrating"); got != "The migration has succeeded and the stored versions have been updated" {
		t.Errorf("the definition says %q", got)
	}
}

// TestMigrationsTakeTurns: from 1.36 on the oldest migration of a resource runs first. One whose resource does not come fails after a minute, and
// one that is deleted leaves its turn to the next.
func TestMigrationsTakeTurns(t *testing.T) {
	clock := &harness.Clock{Start: time.Now()}
	h := migrating(t, "1.36", func(c *server.Config) { c.Clock = clock.Now })
	order(h, migrationsBeta, "a", "lab.example.com", "", "gauges")
	saying(h, migrationsBeta, "a", "Running=True MigrationRunning")
	order(h, migrationsBeta, "b", "lab.example.com", "", "gauges")
	order(h, migrationsBeta, "c", "lab.example.com", "", "gauges")
	order(h, migrationsBeta, "reviews", "authorization.k8s.io", "", "subjectaccessreviews")
	o := saying(h, migrationsBeta, "reviews", "Failed=True StorageVersionMigrationFailed", "Running=False")
	if got, want := said(o, "reviews", "Failed"), `resource "authorization.k8s.io/v1, Resource=subjectaccessreviews" does not support discovery operations: [update patch list]`; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if o.In("b", "status.conditions") != nil || o.In("c", "status.conditions") != nil {
		t.Errorf("another one runs: %s", harness.Describe(o))
	}
	h.Remove(migrationsBeta+"/a", "").Expect(t, http.StatusOK, "")
	o = saying(h, migrationsBeta, "b", "Running=True")
	if o.In("c", "status.conditions") != nil {
		t.Errorf("two run: %s", harness.Describe(o))
	}
	clock.Pass(2 * time.Minute)
	o = saying(h, migrationsBeta, "c", "Failed=True StorageVersionMigrationFailed", "Running=False")
	if got := said(o, "b", "Failed"); got != "resource does not exist in discovery" || !strings.Contains(harness.Conditions(o, "b"), "Running=False") {
		t.Errorf("b: %v %s", got, harness.Conditions(o, "b"))
	}
}

// TestMigrationsOfEarlierReleases: the conditions of 1.31 have other names of times and reasons, and those of 1.30 no messages.
func TestMigrationsOfEarlierReleases(t *testing.T) {
	for release, message := range map[string]any{"1.30": nil, "1.31": "resource does not exist in discovery"} {
		h := migrating(t, release, nil)
		h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{"a":"b"}`))
		order(h, migrationsAlpha, "maps", "", `,"version":"v1"`, "configmaps")
		o := saying(h, migrationsAlpha, "maps", "Running=False StorageVersionMigrationInProgress", "Succeeded=True StorageVersionMigrationSucceeded")
		condition := o.In("maps", "status.conditions").([]any)[1].(map[string]any)
		if condition["lastUpdateTime"] == nil || condition["message"] != nil {
			t.Errorf("%s: %v", release, condition)
		}
		order(h, migrationsAlpha, "none", "", `,"version":"v2"`, "configmaps")
		o = saying(h, migrationsAlpha, "none", "Failed=True StorageVersionMigrationFailed")
		if got := said(o, "none", "Failed"); got != message {
			t.Errorf("%s: %v", release, got)
		}
	}
	h := migrating(t, "1.35", nil)
	order(h, migrationsBeta, "maps", "", "", "configmaps")
	saying(h, migrationsBeta, "maps", "Running=False StorageVersionMigrationInProgress", "Succeeded=True StorageVersionMigrationSucceeded")
}
