package policy

import (
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
)

// conditionIs reports whether a list of conditions has one of a type with a status.
func conditionIs(conditions document.Value, kind, status string) bool {
	for _, condition := range conditions.Elements() {
		if condition.Get("type").Equals(kind) && condition.Get("status").Equals(status) {
			return true
		}
	}
	return false
}

// jobEnd is the end of a job as its status has it.
type jobEnd struct {
	status                             document.Value
	complete, failed, failing, success bool
}

// endOf reads the end of a job.
func endOf(job document.Value) jobEnd {
	status := job.Get("status")
	is := func(kind string) bool { return conditionIs(status.Get("conditions"), kind, "True") }
	return jobEnd{status: status, complete: is("Complete"), failed: is("Failed"), failing: is("FailureTarget"), success: is("SuccessCriteriaMet")}
}

// finished reports whether the job has ended.
func (e jobEnd) finished() bool { return e.complete || e.failed }

// jobStatus checks the status of a job: that an end is reported whole, and that it is not taken back. What an update does not
// change is not checked again.
func (p Policy) jobStatus(c *causes, obj, old document.Value) {
	now, before := endOf(obj), endOf(old)
	if p.on("JobManagedBy") {
		c.jobEnds(now, before)
		c.jobCompletion(now, before)
		c.jobReasons(now, before)
		c.jobStart(obj, now, before)
		c.jobUncounted(now, before)
		c.jobIndexes(obj, now, before)
		c.jobCounts(now, before)
	}
	if p.since("1.30") {
		p.jobSuccess(c, obj, now, before)
	}
	if p.on("JobManagedBy") {
		c.jobReturns(obj, now, before)
	}
	if p.since("1.30") {
		if before.success && !now.success {
			c.jobConditions("cannot disable the SuccessCriteriaMet=True condition")
		}
		if before.complete && !before.success && now.success {
			c.jobConditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
		}
	}
}

// jobConditions reports a mistake in the conditions of a job.
func (c *causes) jobConditions(detail string) {
	c.InvalidAt("status.conditions", document.Value{}, detail)
}

// changed reports whether a member of the status differs.
func changed(now, before jobEnd, name string) bool {
	return !document.Equal(now.status.Get(name), before.status.Get(name))
}

// jobEnds checks the conditions of the end of a job against each other.
func (c *causes) jobEnds(now, before jobEnd) {
	completed, failed := now.complete != before.complete, now.failed != before.failed
	if (completed || failed) && now.complete && now.failed {
		c.jobConditions("cannot set Complete=True and Failed=true conditions")
	}
	if (completed || now.failing != before.failing) && now.complete && now.failing {
		c.jobConditions("cannot set Complete=True and FailureTarget=true conditions")
	}
}

// jobReasons checks that the end of a job has been announced.
func (c *causes) jobReasons(now, before jobEnd) {
	completed, failed := now.complete != before.complete, now.failed != before.failed
	if (failed || changed(now, before, "failedIndexes")) && now.failed && !now.failing {
		c.jobConditions("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if (completed || now.success != before.success) && now.complete && !now.success {
		c.jobConditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
}

// jobCompletion checks the time at which a job was completed.
func (c *causes) jobCompletion(now, before jobEnd) {
	start, end := now.status.Get("startTime"), now.status.Get("completionTime")
	started, ended := changed(now, before, "startTime"), changed(now, before, "completionTime")
	if now.complete != before.complete || ended {
		if isSet(end) && !now.complete {
			c.Invalid(end, "cannot set completionTime when there is no Complete=True condition")
		}
		if !isSet(end) && now.complete {
			c.Required("status.completionTime", "completionTime is required for Complete jobs")
		}
	}
	if (started || ended) && isSet(start) && isSet(end) && earlier(end, start) {
		c.Invalid(end, "must be equal to or after `startTime`")
	}
}

// jobStart checks that a job which has ended had begun, and has no active pods.
func (c *causes) jobStart(obj document.Value, now, before jobEnd) {
	turned, start, active := now.finished() != before.finished(), now.status.Get("startTime"), now.status.Get("active")
	if (turned || changed(now, before, "active")) && number(active) > 0 && now.finished() {
		c.Invalid(active, "active>0 is invalid for finished job")
	}
	spec := obj.Get("spec")
	idle := spec.Get("suspend").Bool() && isSet(spec.Get("completions")) && number(spec.Get("completions")) == 0
	if (turned || changed(now, before, "startTime")) && !idle && !isSet(start) && now.finished() {
		c.Required("status.startTime", "startTime is required for finished job")
	}
}

// earlier reports whether one time is before another.
func earlier(one, other document.Value) bool {
	a, err := time.Parse(time.RFC3339, one.Text())
	b, err2 := time.Parse(time.RFC3339, other.Text())
	return err == nil && err2 == nil && a.Before(b)
}

// jobUncounted checks that all pods of a job that has ended are counted.
func (c *causes) jobUncounted(now, before jobEnd) {
	turned, uncounted := now.finished() != before.finished(), now.status.Get("uncountedTerminatedPods")
	if (turned || changed(now, before, "uncountedTerminatedPods")) && now.finished() && uncounted.Get("failed").Len()+uncounted.Get("succeeded").Len() > 0 {
		c.Invalid(uncounted, "must be empty for finished job")
	}
}

// jobCounts checks the numbers of pods of a job against its end.
func (c *causes) jobCounts(now, before jobEnd) {
	turned := now.finished() != before.finished()
	active, terminating, ready := now.status.Get("active"), now.status.Get("terminating"), now.status.Get("ready")
	if (turned || changed(now, before, "terminating")) && number(terminating) > 0 && now.finished() {
		c.Invalid(terminating, "terminating>0 is invalid for finished job")
	}
	if (changed(now, before, "ready") || changed(now, before, "active")) && isSet(ready) && number(ready) > number(active) {
		c.Invalid(ready, "cannot set more ready pods than active")
	}
}

// jobIndexes checks the indexes of the pods that have ended.
func (c *causes) jobIndexes(obj document.Value, now, before jobEnd) {
	spec, done, failed := obj.Get("spec"), now.status.Get("completedIndexes"), now.status.Get("failedIndexes")
	completions, limited := spec.Get("completions"), isSet(spec.Get("backoffLimitPerIndex"))
	newDone, newFailed := changed(now, before, "completedIndexes"), isSet(failed) && changed(now, before, "failedIndexes")
	if newDone && isSet(completions) {
		if _, err := countIndexes(done.Text(), number(completions)); err != nil {
			c.Invalid(done, "error parsing completedIndexes: "+err.Error())
		}
	}
	if newFailed && isSet(completions) && limited {
		if _, err := countIndexes(failed.Text(), number(completions)); err != nil {
			c.Invalid(failed, "error parsing failedIndexes: "+err.Error())
		}
	}
	if newDone && done.Text() != "" && !spec.Get("completionMode").Equals("Indexed") {
		c.Invalid(done, "cannot set non-empty completedIndexes when non-indexed completion mode")
	}
	if newFailed && !limited {
		c.Invalid(failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")
	}
	if isSet(completions) && isSet(failed) && (newFailed || newDone) {
		if at, both := sharedIndex(done.Text(), failed.Text(), number(completions)); both {
			c.Invalid(failed, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", at))
		}
	}
}

// jobSuccess checks the condition by which a job succeeds early.
func (p Policy) jobSuccess(c *causes, obj document.Value, now, before jobEnd) {
	spec := obj.Get("spec")
	policy := isSet(spec.Get("successPolicy"))
	anyJob := before.success || p.on("JobManagedBy") || p.on("JobPodReplacementPolicy") && p.since("1.31")
	if now.success {
		if !anyJob && !spec.Get("completionMode").Equals("Indexed") {
			c.jobConditions("cannot set SuccessCriteriaMet to NonIndexed Job")
		}
		if now.failed {
			c.jobConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
		}
		if now.failing {
			c.jobConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
		}
		if !anyJob && !policy {
			c.jobConditions("cannot set SuccessCriteriaMet=True for Job without SuccessPolicy")
		}
	}
	if policy && !now.success && now.complete {
		c.jobConditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// jobReturns checks that an end is not taken back, and that counters do not run backwards.
func (c *causes) jobReturns(obj document.Value, now, before jobEnd) {
	for _, end := range [...]struct {
		name     string
		was, has bool
	}{{"Failed", before.failed, now.failed}, {"Complete", before.complete, now.complete}, {"FailureTarget", before.failing, now.failing}} {
		if end.was && !end.has {
			c.jobConditions("cannot disable the terminal " + end.name + "=True condition")
		}
	}
	spec := obj.Get("spec")
	if failed := now.status.Get("failed"); number(failed) < number(before.status.Get("failed")) {
		c.InvalidAt("status.failed", failed, "cannot decrease the failed counter")
	}
	scalable := spec.Get("completionMode").Equals("Indexed") && document.Equal(spec.Get("completions"), spec.Get("parallelism"))
	if done := now.status.Get("succeeded"); !scalable && number(done) < number(before.status.Get("succeeded")) {
		c.InvalidAt("status.succeeded", done, "cannot decrease the succeeded counter")
	}
	if end := now.status.Get("completionTime"); isSet(end) && isSet(before.status.Get("completionTime")) && changed(now, before, "completionTime") {
		c.Invalid(end, "field is immutable")
	}
	if start := before.status.Get("startTime"); isSet(start) && changed(now, before, "startTime") && !spec.Get("suspend").Bool() &&
		!(conditionIs(before.status.Get("conditions"), "Suspended", "True") && conditionIs(now.status.Get("conditions"), "Suspended", "False")) {
		c.InvalidAt("status.startTime", now.status.Get("startTime"), "field is immutable for unsuspended job once set")
	}
}
