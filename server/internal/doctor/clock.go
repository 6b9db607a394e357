package doctor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/capstan-dev/capstan/client"
)

// mostSkew is a difference of clocks that does no harm.
const mostSkew = 5 * time.Second

const followTime = "have it follow a time server: certificates, tokens and leases count by the clock"

// checkClock looks at the clock of this machine, and compares it with that of the server.
func checkClock(ctx context.Context, s *Subject, server *client.REST) (all []Finding) {
	if adrift(timeMark) {
		all = append(all, warning(followTime+" ('timedatectl' shows its state)", "the system says that no time server keeps the clock of this machine"))
	}
	if at := newest(filepath.Join(s.DataDir, "store")); at.After(s.Now.Add(mostSkew)) {
		all = append(all, problem("set the clock of the machine before the server starts",
			"the store was written at %s, which is later than now: the clock was set back", at.UTC().Format(time.RFC3339)))
	}
	if server == nil {
		return all
	}
	if skew := skewOf(ctx, server); skew != 0 {
		all = append(all, problem(followTime, "the clocks of the server and of this machine are %v apart", skew.Round(time.Second)))
	}
	return all
}

// newest is the time of the last change of a file in a directory; zero without one.
func newest(dir string) (at time.Time) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return at
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// skewOf is the difference between the clocks, by the time that a new object would get; 0 for one that does no harm.
func skewOf(ctx context.Context, server *client.REST) time.Duration {
	before := time.Now()
	text, err := server.Post(ctx, "/api/v1/namespaces/default/configmaps?dryRun=All",
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"doctor-"}}`))
	var made struct {
		Metadata struct{ CreationTimestamp time.Time }
	}
	if err != nil || json.Unmarshal(text, &made) != nil || made.Metadata.CreationTimestamp.IsZero() {
		return 0 // another check finds the cause
	}
	return apart(made.Metadata.CreationTimestamp, before, time.Now())
}

// apart is how far a time is from a span of times; 0 when that does no harm.
func apart(at, from, to time.Time) time.Duration {
	switch {
	case at.Before(from.Add(-mostSkew)):
		return from.Sub(at)
	case at.After(to.Add(mostSkew)):
		return at.Sub(to)
	}
	return 0
}
