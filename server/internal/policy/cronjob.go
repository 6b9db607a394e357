package policy

import (
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxCronJobName leaves room for the eleven additional bytes in the names of the jobs.
const maxCronJobName = 52

// ValidateCronJob checks the schedule and the template of the jobs.
func (Policy) ValidateCronJob(obj, old document.Value) []schema.Cause {
	var c causes
	name := obj.At("metadata", "name")
	if !old.Exists() && len(name.Text()) > maxCronJobName {
		c.Invalid(name, "must be no more than 52 characters")
	}
	spec := obj.Get("spec")
	schedule, zone := spec.Get("schedule"), spec.Get("timeZone")
	if !isEmpty(schedule) {
		if err := checkSchedule(schedule.Text()); err != nil {
			c.Invalid(schedule, err.Error())
		}
		if isSet(zone) && strings.Contains(schedule.Text(), "TZ") {
			c.Invalid(schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule")
		}
	}
	if !old.Exists() || !same(zone, old.At("spec", "timeZone")) {
		c.timeZone(zone)
	}
	job := spec.At("jobTemplate", "spec")
	if selector := job.Get("selector"); isSet(selector) {
		c.Invalid(selector, "`selector` will be auto-generated")
	}
	if manual := job.Get("manualSelector"); manual.Bool() {
		c.NotSupported(manual, "nil", "false")
	}
	return c.Causes
}

// timeZone checks the name of a zone, which must not depend on the machine.
func (c *causes) timeZone(zone document.Value) {
	name := zone.Text()
	if !isSet(zone) {
		return
	}
	if name == "" {
		c.Invalid(zone, "timeZone must be nil or non-empty string")
		return
	}
	if strings.EqualFold(name, "Local") {
		c.Invalid(zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(name); err != nil {
		c.Invalid(zone, "unknown time zone "+name)
	}
}
