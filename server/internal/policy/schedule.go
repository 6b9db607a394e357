package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // so that the known zones do not depend on the machine
)

// scheduleField is one of the five fields of a cron expression.
type scheduleField struct {
	name     string
	min, max int
	words    []string // names of the values from min on
}

var scheduleFields = [...]scheduleField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// checkSchedule returns the mistake in a cron expression: five fields, or a shorthand
// such as @daily or "@every 1h30m", after an optional time zone ("TZ=Europe/Vienna" or
// "CRON_TZ=…").
func checkSchedule(text string) error {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		zone, rest, found := strings.Cut(text[strings.IndexByte(text, '=')+1:], " ")
		if !found {
			return errors.New("a schedule has to follow the time zone")
		}
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("the time zone %q is not known", zone)
		}
		text = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(text, "@") {
		return checkShorthand(text)
	}
	parts := strings.Fields(text)
	if len(parts) != len(scheduleFields) {
		return fmt.Errorf("expected exactly %d fields (minute, hour, day of month, month, day of week), found %d", len(scheduleFields), len(parts))
	}
	for i, part := range parts {
		for _, choice := range strings.Split(part, ",") {
			if err := scheduleFields[i].check(choice); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkShorthand(text string) error {
	switch text {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		return nil
	}
	if every, ok := strings.CutPrefix(text, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("%q is not a duration such as 1h30m", every)
		}
		return nil
	}
	return fmt.Errorf("the shorthand %q is not known; use @hourly, @daily, @weekly, @monthly, @yearly or @every", text)
}

// check returns the mistake in one choice of a field: *, 5, 1-5, each with or without /2
// after it.
func (f *scheduleField) check(choice string) error {
	span, step, stepped := strings.Cut(choice, "/")
	if stepped {
		if n, err := strconv.ParseUint(step, 10, 31); err != nil || n == 0 {
			return fmt.Errorf("the step %q of the %s has to be a number above 0", step, f.name)
		}
	}
	if span == "*" || span == "?" {
		return nil
	}
	from, to, ranged := strings.Cut(span, "-")
	first, err := f.value(from)
	if err != nil {
		return err
	}
	if !ranged {
		return nil
	}
	last, err := f.value(to)
	if err == nil && first > last {
		err = fmt.Errorf("the range %q of the %s ends before it begins", span, f.name)
	}
	return err
}

// value reads a number or a name.
func (f *scheduleField) value(text string) (int, error) {
	for i, word := range f.words {
		if strings.EqualFold(text, word) {
			return f.min + i, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || int(n) < f.min || int(n) > f.max {
		return 0, fmt.Errorf("the %s %q is not between %d and %d", f.name, text, f.min, f.max)
	}
	return int(n), nil
}
