package promise

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Limited is the beginning of the names of pods in namespaces with a limit range, which is
// named LimitRange. Their calls have the asked limit of cpu as their variant.
const (
	Limited    = "l-"
	LimitRange = "range"
)

// milli is an amount of cpu like 200m, 0 for none.
func milli(v any) int {
	text, _ := v.(string)
	n, err := strconv.Atoi(strings.TrimSuffix(text, "m"))
	if err != nil {
		return 0
	}
	if !strings.HasSuffix(text, "m") {
		n *= 1000
	}
	return n
}

// item is a field of the only element of a list.
func item(o *record.Object, list []string, path ...string) any {
	if all, _ := o.Field(list...).([]any); len(all) > 0 {
		content, _ := all[0].(map[string]any)
		return (&record.Object{Content: content}).Field(path...)
	}
	return nil
}

// rangeOf is an amount that a limit range names, 0 when there is none.
func rangeOf(o *record.Object, name string) int {
	if o == nil {
		return 0
	}
	return milli(item(o, []string{"spec", "limits"}, name, "cpu"))
}

// limited compares the pods with the limit ranges that were there while they were made.
func limited(r *record.Record) (wrong []string) {
	o := newOrder(r)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Resource != "pods" || c.Verb != "create" || !strings.HasPrefix(c.Name, Limited) {
			continue
		}
		asked, key := milli(c.Variant), history.Key("limitranges", c.Namespace, LimitRange)
		if strings.Contains(c.Message, "maximum cpu usage") && !some(o.answered(c, key), func(s []*record.Object) bool {
			return s[0] != nil && asked > rangeOf(s[0], "max")
		}) {
			wrong = append(wrong, fmt.Sprintf("%s with a limit of %s at %s was refused, and no range refuses it: %s", c.Key(), c.Variant, c.Began, c.Message))
		}
		states := o.written(c, key)
		if states == nil {
			continue
		}
		has := milli(item(c.Object, []string{"spec", "containers"}, "resources", "limits", "cpu"))
		if !some(states, func(s []*record.Object) bool {
			return has == asked && asked > 0 && (s[0] == nil || asked <= rangeOf(s[0], "max")) || asked == 0 && has == rangeOf(s[0], "default")
		}) {
			wrong = append(wrong, fmt.Sprintf("%s@%d asked for %q at %s and has the limit %dm, which no range says that was there", c.Key(), c.Object.Revision,
				c.Variant, c.Began, has))
		}
	}
	return wrong
}
