package objects

import (
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// timeLeft is the grace period of an object that is being deleted, in seconds.
func timeLeft(meta document.Value) int64 {
	left, _ := meta.Get("deletionGracePeriodSeconds").Int()
	return left
}

func (o *Objects) markTerminating(meta document.Value, grace int64) {
	at := o.cfg.Clock().Add(time.Duration(grace) * time.Second)
	meta.SetString("deletionTimestamp", at.UTC().Format(time.RFC3339))
	meta.SetInt("deletionGracePeriodSeconds", grace)
}

// graceOf is the grace period of a delete, in seconds. An object that lacks a value for
// it (a pod without a node), or that is finished, is deleted at once.
func graceOf(res *api.Resource, obj document.Value, asked *int64) int64 {
	g := res.Graceful
	if g.Needs != nil && isZero(obj.At(g.Needs...)) || res.Completes && done(obj) {
		return 0
	}
	grace := g.Default
	if n, ok := obj.At(g.Period...).Int(); ok {
		grace = n
	}
	if asked != nil {
		grace = *asked
	}
	return atLeast(grace)
}

// done reports whether an object that completes has finished.
func done(obj document.Value) bool {
	phase := obj.At("status", "phase")
	return phase.Equals("Failed") || phase.Equals("Succeeded")
}

// atLeast turns a negative grace period into the shortest one.
func atLeast(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

// shortenGrace shortens the grace period of a terminating object, counted from the first
// delete. It reports whether it was longer.
func shortenGrace(meta document.Value, asked *int64) bool {
	left, ok := meta.Get("deletionGracePeriodSeconds").Int()
	if asked == nil || !ok || atLeast(*asked) >= left {
		return false
	}
	grace := atLeast(*asked)
	if at, err := time.Parse(time.RFC3339, meta.Get("deletionTimestamp").Text()); err == nil {
		at = at.Add(time.Duration(grace-left) * time.Second)
		meta.SetString("deletionTimestamp", at.UTC().Format(time.RFC3339))
	}
	meta.SetInt("deletionGracePeriodSeconds", grace)
	return true
}
