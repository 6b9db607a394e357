package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/client"
	genclient "github.com/capstan-dev/capstan/gen/client"
	corev1 "github.com/capstan-dev/capstan/gen/core/v1"
)

// TestOwnControllers: a controller works with its client from the bootstrap to the end of the server, as its user, and
// runs again after an error and a panic.
func TestOwnControllers(t *testing.T) {
	var runs atomic.Int32
	made, ended := make(chan error, 1), make(chan struct{})
	run := func(ctx context.Context, c client.Config) error {
		switch runs.Add(1) {
		case 1:
			return errors.New("on purpose")
		case 2:
			panic("on purpose")
		}
		all, err := genclient.New(c)
		if err == nil {
			obj := &corev1.ConfigMap{}
			obj.Metadata.Name = "made"
			_, err = all.CoreV1().ConfigMaps("default").Create(ctx, obj, client.WriteOptions{})
		}
		made <- err
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}
	stranger := make(chan error, 1)
	config := Config{InMemory: true}
	config.OwnControllers = []Controller{{Name: "maker", Run: run},
		{Name: "stranger", User: "nobody", Run: func(ctx context.Context, c client.Config) error {
			all, err := genclient.New(c)
			if err == nil {
				_, err = all.CoreV1().Secrets("default").List(ctx, client.ListOptions{})
			}
			stranger <- err
			return nil
		}}}
	s, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
	if refused := (*client.Error)(nil); !errors.As(<-stranger, &refused) || refused.Code != 403 {
		t.Errorf("a user without rights: %v", refused)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	default:
		t.Error("the server has stopped, and the controller runs")
	}
}

// TestWrongControllers: controllers that cannot run are refused at the start.
func TestWrongControllers(t *testing.T) {
	run := func(context.Context, client.Config) error { return nil }
	for _, all := range [][]Controller{{{Run: run}}, {{Name: "a"}}, {{Name: "a", Run: run}, {Name: "a", Run: run}}} {
		c := Config{InMemory: true}
		c.OwnControllers = all
		if err := c.Validate(); err == nil {
			t.Errorf("%s is accepted", fmt.Sprint(len(all)))
		}
	}
}
