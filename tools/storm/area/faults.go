package area

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// faults is the area of what happens to the server's process: it stands still, looks at
// its files again, is stopped or killed, and starts again, and to the members of an etcd: they stand still. A server in memory is not
// stopped, since it would forget everything.
func faults() Area {
	return Area{Name: "faults", Weight: 1, Do: doFaults, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"pause", 3}, weighted{"hangup", 2}, weighted{"stop", 2}, weighted{"kill", 3}, weighted{"hang", 2})
	}}
}

func doFaults(ctx context.Context, c *stage.Client, s program.Step) {
	c.Alone("faults", func() {
		switch {
		case s.Op == "hangup":
			c.Hangup()
		case s.Op == "hang" && c.Shared():
			c.HangMember(time.Duration(1000+5*s.A) * time.Millisecond)
		case s.Op == "pause" || s.Op == "hang" || c.Memory:
			c.Pause(time.Duration(100+s.A) * time.Millisecond)
		case s.Op == "stop":
			c.Restart(ctx, c.StopOne)
		default:
			c.Restart(ctx, c.KillOne)
		}
	})
}
