package etcdstore_test

import (
	"context"
	"testing"

	capstan "github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestOwnControllersOfSeveralServers: one of the servers runs a controller, and another one when that server has ended.
func TestOwnControllersOfSeveralServers(t *testing.T) {
	url := harness.Etcd(t)
	begun, ended := make(chan int, 2), make(chan int, 2)
	var all []*harness.Server
	for i := range 2 {
		all = append(all, harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.OwnControllers = []server.Controller{{Name: "once", Run: func(ctx context.Context, _ capstan.Config) error {
				begun <- i
				<-ctx.Done()
				ended <- i
				return nil
			}}}
		}))
	}
	first := <-begun
	if err := all[first].Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := <-begun; second == first {
		t.Error("a server that has stopped runs a controller again")
	}
	if got := <-ended; got != first {
		t.Errorf("the controller of server %d ended, not that of %d", got, first)
	}
	select {
	case i := <-begun:
		t.Errorf("server %d runs a second one", i)
	default:
	}
}
