package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

func timely(r *record.Record) (wrong []string) {
	for _, l := range r.Late {
		wrong = append(wrong, fmt.Sprintf("%s had no end after %s; all goroutines are in %s", l.What, l.Waited, l.Dump))
	}
	return wrong
}

func stops(r *record.Record) []string {
	if r.Exit == "" {
		return nil
	}
	return []string{r.Exit}
}
