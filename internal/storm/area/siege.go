package area

import (
	"context"
	"sync"

	"github.com/capstan-dev/capstan/internal/storm/stage"
)

// besiegers are the clients that open watches while a definition ends, mostAssaults bounds
// the watches of each.
const (
	besiegers    = 4
	mostAssaults = 25
)

// besiege opens watches of the objects of a definition, one after the other, while the
// definition is deleted, until there are no such objects any more. So some watches are opened in the very moment of the
// end, by requests that have found the kind while it was there.
func besiege(ctx context.Context, c *stage.Client, kind stage.Kind, def stage.Request) {
	uid := c.Definition(def.Name)
	if uid == "" {
		return
	}
	var all sync.WaitGroup
	for range besiegers {
		all.Go(func() {
			for range mostAssaults {
				opened := make(chan bool, 1)
				c.Follow(func() { c.WatchCustomOf(ctx, kind, def.Name, uid, opened) })
				if !<-opened || c.Broken() {
					return
				}
			}
		})
	}
	def.Verb = "delete"
	c.Do(def)
	all.Wait()
}
