package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
)

// localVersion is a local group version with a resource, of a definition if it is custom.
func localVersion(name string, groupPriority, priority int, custom bool) *api.GroupVersion {
	group, version, _ := strings.Cut(name, "/")
	gv := &api.GroupVersion{Group: group, Version: version, GroupPriority: groupPriority, VersionPriority: priority}
	gv.Resources = []api.Resource{{GV: gv, Plural: "things" + version, Kind: "Thing", Stored: true}}
	if custom {
		gv.Resources[0].Definition = &api.Definition{}
	}
	return gv
}

func remoteVersion(name string, groupPriority, priority int) *Remote {
	group, version, _ := strings.Cut(name, "/")
	return &Remote{GroupVersion: &api.GroupVersion{Group: group, Version: version, GroupPriority: groupPriority, VersionPriority: priority}}
}

// TestRemotes: remote group versions are discovered among local ones by the priorities of
// groups and versions.
func TestRemotes(t *testing.T) {
	c := New([]*api.GroupVersion{localVersion("apps/v1", 17800, 15, false), localVersion("b.example.com/v1", 1000, 4, true), localVersion("b.example.com/v1beta1", 1000, 3, true),
		localVersion("c.example.com/v1", 1000, 4, true)}, &schema.Table{})
	names := func(list []*Version) string {
		var all []string
		for _, v := range list {
			name := v.APIVersion()
			if v.Remote != nil {
				name = "(" + name + ")"
			}
			all = append(all, strings.Replace(name, ".example.com", "", 1))
		}
		return strings.Join(all, " ")
	}
	for _, test := range []struct {
		remotes []*Remote
		want    string
	}{
		{nil, "apps/v1 b/v1 b/v1beta1 c/v1"},
		{[]*Remote{remoteVersion("a.example.com/v1", 500, 1)}, "apps/v1 b/v1 b/v1beta1 c/v1 (a/v1)"},
		{[]*Remote{remoteVersion("a.example.com/v1", 2000, 1), remoteVersion("a.example.com/v2", 100, 1), remoteVersion("a.example.com/v2beta1", 100, 7)}, "apps/v1 (a/v2beta1) (a/v2) (a/v1) b/v1 b/v1beta1 c/v1"},
		{[]*Remote{remoteVersion("a.example.com/v1", 20000, 1)}, "(a/v1) apps/v1 b/v1 b/v1beta1 c/v1"},
		{[]*Remote{remoteVersion("c.example.com/v2", 1001, 100)}, "apps/v1 (c/v2) c/v1 b/v1 b/v1beta1"},
		{[]*Remote{remoteVersion("c.example.com/v2", 1001, 99)}, "apps/v1 c/v1 (c/v2) b/v1 b/v1beta1"},
		{[]*Remote{remoteVersion("b.example.com/v1beta1", 1000, 200)}, "apps/v1 (b/v1beta1) b/v1 c/v1"},
		{[]*Remote{remoteVersion("apps/v1", 20000, 1)}, "apps/v1 b/v1 b/v1beta1 c/v1"},
	} {
		c.SetRemotes(test.remotes)
		s := c.Snapshot()
		if got := names(s.Discovered()); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		for _, v := range s.Discovered() {
			if in := names(s.DiscoveredIn(v.Group)); !strings.Contains(test.want, in) {
				t.Errorf("of group %s: %s", v.Group, in)
			}
		}
	}
	c.SetRemotes([]*Remote{remoteVersion("a.example.com/v1", 1, 1)})
	for path, want := range map[string]bool{"/apis/a.example.com/v1": true, "/apis/a.example.com/v1/x": true, "/apis/a.example.com/v1x": false, "/apis/a.example.com": false, "/api/a.example.com/v1": false, "/": false} {
		if got := c.Snapshot().RemoteAt(path) != nil; got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestNext(t *testing.T) {
	c := New(nil, &schema.Table{})
	first := c.Snapshot()
	ctx, cancel := context.WithCancel(t.Context())
	next := make(chan *Snapshot)
	go func() {
		s, _ := c.Next(ctx, first)
		next <- s
	}()
	c.SetRemotes([]*Remote{remoteVersion("a.example.com/v1", 1, 1)})
	if s := <-next; s != c.Snapshot() {
		t.Error("another snapshot than the present one")
	}
	cancel()
	if _, err := c.Next(ctx, c.Snapshot()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
