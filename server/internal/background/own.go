package background

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/capstan-dev/capstan/client"
)

// OwnController is a controller of another module, which the server starts and stops. Of several servers that share
// an etcd one runs it; another one takes over when that server ends, or does not reach etcd for a while.
type OwnController struct {
	// Name is the user agent of its requests and its name in the log.
	Name string
	// Run works until ctx ends, which it does when the server stops or another one takes over. Its client is that of
	// the administrator unless User says otherwise. Run is called again, after a pause, when it panics or returns an
	// error before its time.
	Run func(ctx context.Context, c client.Config) error
	// User is as whom the controller works: system:serviceaccount:default:restarter. Default: the administrator.
	User string
}

// Pauses before a controller that has failed runs again.
const (
	firstControllerPause   = time.Second
	longestControllerPause = time.Minute
)

// checkOwn refuses controllers that cannot run.
func checkOwn(all []OwnController) error {
	seen := map[string]bool{}
	for _, c := range all {
		switch {
		case c.Name == "" || c.Run == nil:
			return fmt.Errorf("controllers: %q has no name or no function to run; give it both", c.Name)
		case seen[c.Name]:
			return fmt.Errorf("controllers: two are called %q; rename one of them", c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// startOwn has the controllers of other modules run from the bootstrap on.
func (c *Controllers) startOwn() {
	for _, own := range c.cfg.OwnControllers {
		c.Run(func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-c.Bootstrapped():
				c.runOwn(ctx, own)
			}
		})
	}
}

// runOwn runs a controller on one of the servers that share a store, until ctx ends.
func (c *Controllers) runOwn(ctx context.Context, own OwnController) {
	config, _, err := client.ParseKubeconfig(c.cfg.Kubeconfig(), "")
	if err != nil {
		c.log.Error("a controller cannot run: this server has no administrator, since it trusts given authorities only", "controller", own.Name, "error", err)
		return
	}
	config.UserAgent, config.Impersonate.User = own.Name, own.User
	if c.cfg.Sharing == nil {
		c.keepRunning(ctx, own, config)
		return
	}
	c.cfg.Sharing.Store.Lead(ctx, "controllers-"+own.Name, func(led context.Context) { c.keepRunning(led, own, config) })
}

// keepRunning runs a controller again when it fails, until ctx ends.
func (c *Controllers) keepRunning(ctx context.Context, own OwnController, config client.Config) {
	for pause := firstControllerPause; ; pause = min(2*pause, longestControllerPause) {
		err := c.runOnce(ctx, own, config)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			c.log.Info("a controller has nothing left to do", "controller", own.Name)
			<-ctx.Done() // the lead, if there is one, stays here
			return
		}
		c.log.Warn("a controller has failed, and runs again", "controller", own.Name, "in", pause, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// runOnce runs a controller, and makes an error of its panic.
func (c *Controllers) runOnce(ctx context.Context, own OwnController, config client.Config) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("a controller panicked", "controller", own.Name, "panic", v, "stack", string(debug.Stack()))
			err = errors.New("it panicked")
		}
	}()
	return own.Run(ctx, config)
}
