package document

import (
	"strings"
	"time"
	_ "time/tzdata" // so that the known zones do not depend on the machine

	"github.com/robfig/cron/v3"
)

// badSchedule reports the mistake in a schedule in the form of cron, which may begin with
// a time zone: "TZ=Europe/Vienna 0 6 * * *".
func badSchedule(text string) []string {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		if _, rest, _ := strings.Cut(text, " "); rest == "" { // the parser expects one
			return []string{"a schedule has to follow the time zone"}
		}
	}
	if _, err := cron.ParseStandard(text); err != nil {
		return []string{cutText(err.Error())}
	}
	return nil
}

// badZone reports the mistakes in the name of a time zone, which must not depend on the
// machine.
func badZone(name string) (problems []string) {
	if name == "" {
		return []string{"timeZone must be nil or non-empty string"}
	}
	if strings.EqualFold(name, "Local") {
		problems = append(problems, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
	}
	if _, err := time.LoadLocation(name); err != nil {
		problems = append(problems, "unknown time zone "+cutText(name))
	}
	return problems
}
