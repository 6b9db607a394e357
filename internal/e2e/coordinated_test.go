package e2e

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// nominate makes a candidate run for a lease that the server gives, until ctx ends. Its version is that of a program which behaves as
// an emulated one. It sends its name when it leads, and its name with "-" before it when it does not any more.
func (i *instance) nominate(t *testing.T, ctx context.Context, name, emulated string, said chan<- string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(i.config(t))
	if err != nil {
		t.Fatal(err)
	}
	candidate, synced, err := leaderelection.NewCandidate(client, "default", name, "web", "1.34.0", emulated, coordinationv1.OldestEmulationVersion)
	if err != nil {
		t.Fatal(err)
	}
	go candidate.Run(ctx)
	synced.WaitForCacheSync(ctx.Done())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
		LeaseDuration: 10 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Coordinated: true, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { said <- name },
			OnStoppedLeading: func() { said <- "-" + name },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go elector.Run(ctx)
}

// TestCoordinatedLeaderElection: the server gives a lease to client-go's candidates. One that behaves as an older version gets it from
// a newer one, which lets it go.
func TestCoordinatedLeaderElection(t *testing.T) {
	t.Parallel()
	server := serve(t, "", "--emulated-version=1.34", "--feature-gates=CoordinatedLeaderElection=true", "--runtime-config=coordination.k8s.io/v1beta1=true")
	said := make(chan string, 100)
	ctx, stop := context.WithCancel(testContext(t))
	defer stop()
	expect := func(want string) {
		t.Helper()
		for {
			select {
			case got := <-said:
				if got == want {
					return
				}
			case <-ctx.Done():
				t.Fatalf("%s did not come", want)
			}
		}
	}
	server.nominate(t, ctx, "new", "1.34.0", said)
	expect("new")
	server.nominate(t, ctx, "old", "1.33.0", said)
	expect("-new")
	expect("old")
	lease, err := server.client(t).CoordinationV1().Leases("default").Get(ctx, "web", metav1.GetOptions{})
	if err != nil || lease.Spec.Strategy == nil || *lease.Spec.Strategy != coordinationv1.OldestEmulationVersion || *lease.Spec.HolderIdentity != "old" {
		t.Errorf("the lease is %+v: %v", lease, err)
	}
}
