package area

import (
	"context"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// openers is the number of clients that open watches while a definition ends, mostOpened
// bounds the watches of each.
const (
	openers    = 4
	mostOpened = 25
)

// dropWatched opens watches of the objects of a definition, one after the other, while the
// definition is deleted, until there are no such objects any more. So some watches are
// opened in the very moment of the end, by requests that have found the kind while it was
// there.
func dropWatched(ctx context.Context, c *stage.Client, kind stage.Kind, def stage.Request) {
	uid := c.Definition(def.Name)
	if uid == "" {
		return
	}
	var all sync.WaitGroup
	for range openers {
		all.Go(func() {
			for range mostOpened {
				opened := make(chan bool, 1)
				c.Follow(func() { c.WatchCustomOf(ctx, kind, def.Name, uid, opened) })
				select {
				case ok := <-opened:
					if !ok || c.Broken() {
						return
					}
				case <-time.After(stage.Patience): // other requests tell of it
					return
				}
			}
		})
	}
	def.Verb = "delete"
	c.Do(def)
	all.Wait()
}
