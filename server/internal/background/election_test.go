package background_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	leases     = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	candidates = "/apis/coordination.k8s.io/%s/namespaces/default/leasecandidates"
)

// electing starts a server of a release with the controller of elections, whose time stands still.
func electing(t *testing.T, release, version string, change func(*server.Config)) (*harness.Server, *harness.Clock, string) {
	t.Helper()
	clock := &harness.Clock{Start: time.Now().Truncate(time.Microsecond)}
	return harness.Start(t, func(c *server.Config) {
		c.Controllers, c.Clock = []string{"leader-election-controller"}, clock.Now
		c.EmulatedVersion, c.FeatureGates = []string{release}, []string{"CoordinatedLeaderElection=true"}
		c.RuntimeConfig = []string{"coordination.k8s.io/" + version + "=true"}
		if change != nil {
			change(c)
		}
	}), clock, fmt.Sprintf(candidates, version)
}

// nominate makes a candidate for the lease web.
func nominate(h *harness.Server, path, name, binary, emulation, strategy string, now time.Time) {
	h.T.Helper()
	h.Create(path, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"leaseName":"web","binaryVersion":%q,"emulationVersion":%q,%s,"renewTime":%q}}`,
		name, binary, emulation, strategy, micro(now)))
}

func micro(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z07:00") }

// held awaits the holder and the preferred holder of the lease.
func held(h *harness.Server, holder, preferred any) harness.Contents {
	h.T.Helper()
	return h.Await(leases, func(o harness.Contents) bool {
		return o["web"] != nil && o.In("web", "spec.holderIdentity") == holder && o.In("web", "spec.preferredHolder") == preferred
	})
}

const byOldest = `"strategy":"OldestEmulationVersion"`

// TestElection: the candidate with the oldest emulated version gets the lease: at once when that is free, else when its holder, which sees the name of the
// better one in it, has let it go. Candidates that are asked and do not answer get none.
func TestElection(t *testing.T) {
	h, clock, path := electing(t, "1.36", "v1beta1", nil)
	nominate(h, path, "new", "1.36.0", "1.36.0", byOldest, clock.Now())
	o := held(h, "new", nil)
	if o.In("web", "spec.strategy") != "OldestEmulationVersion" || o.In("web", "spec.leaseDurationSeconds") != 5.0 || o.In("web", "spec.renewTime") != micro(clock.Now()) {
		t.Errorf("the lease is %v", o.In("web", "spec"))
	}
	nominate(h, path, "old", "1.36.0", "1.35.0", byOldest, clock.Now())
	held(h, "new", "old")
	h.Merge(leases+"/web", `{"spec":{"holderIdentity":""}}`).Expect(t, http.StatusOK, "")
	held(h, "old", nil)

	clock.Pass(10 * time.Minute)                                                             // the lease is over
	h.Merge(leases+"/web", `{"metadata":{"labels":{"a":"b"}}}`).Expect(t, http.StatusOK, "") // so that the controller looks
	asked := micro(clock.Now())
	h.Await(path, func(o harness.Contents) bool {
		return o.In("new", "spec.pingTime") == asked && o.In("old", "spec.pingTime") == asked
	})
	clock.Pass(time.Second)
	h.Merge(path+"/new", fmt.Sprintf(`{"spec":{"renewTime":%q}}`, micro(clock.Now()))).Expect(t, http.StatusOK, "")
	clock.Pass(4500 * time.Millisecond) // the time to answer is over
	h.Merge(leases+"/web", `{"metadata":{"labels":{"a":"c"}}}`).Expect(t, http.StatusOK, "")
	held(h, "new", nil)
}

// TestElectionStrategies: the newest program decides on the strategy; a lease of another strategy than that of the server has no holder. v1alpha1 has
// lists of strategies.
func TestElectionStrategies(t *testing.T) {
	h, clock, path := electing(t, "1.33", "v1beta1", nil)
	nominate(h, path, "other", "1.34.0", "1.33.0", `"strategy":"example.com/mine"`, clock.Now())
	nominate(h, path, "old", "1.33.0", "1.33.0", byOldest, clock.Now())
	if o := held(h, nil, nil); o.In("web", "spec.strategy") != "example.com/mine" {
		t.Errorf("the lease is %v", o.In("web", "spec"))
	}
	h, clock, path = electing(t, "1.31", "v1alpha1", nil)
	nominate(h, path, "one", "1.31.0", "1.31.0", `"preferredStrategies":["OldestEmulationVersion"]`, clock.Now())
	held(h, "one", nil)
}

// TestElectionCleans: candidates without an answer for half an hour go.
func TestElectionCleans(t *testing.T) {
	onDisk, path := vfs.NewMem(), ""
	change := func(c *server.Config) { c.InMemory, c.FS, c.DataDir = false, onDisk, "data" }
	t.Run("before", func(t *testing.T) {
		h, clock, of := electing(t, "1.36", "v1beta1", change)
		path = of
		nominate(h, path, "gone", "1.36.0", "1.36.0", byOldest, clock.Now().Add(-31*time.Minute))
		nominate(h, path, "there", "1.36.0", "1.36.0", byOldest, clock.Now())
		held(h, "there", nil)
	})
	h, _, _ := electing(t, "1.36", "v1beta1", change)
	h.AwaitGone(path, "gone")
	h.Get(path+"/there").Expect(t, http.StatusOK, "")
}
