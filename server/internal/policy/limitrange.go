package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultLimitRangeItem completes the defaults for containers: the limit is the
// maximum, the request is the limit, or else the minimum.
func (Policy) DefaultLimitRangeItem(item document.Value) {
	if !item.Get("type").Equals("Container") {
		return
	}
	addMissing(item, "default", item.Get("max"))
	addMissing(item, "defaultRequest", item.Get("default"))
	addMissing(item, "defaultRequest", item.Get("min"))
}

// CreateLimitRange names a limit range that was sent without a name.
func (Policy) CreateLimitRange(obj document.Value) {
	if meta := obj.SetObject("metadata"); isEmpty(meta.Get("name")) {
		meta.SetString("name", uuid.NewString())
	}
}

// addMissing adds to a map the entries of another that it does not have.
func addMissing(of document.Value, name string, from document.Value) {
	if isEmpty(from) {
		return
	}
	to := of.SetObject(name)
	for entry, v := range from.Members() {
		if !to.Get(entry).Exists() {
			to.Put(entry, v)
		}
	}
}

var limitTypes = []string{"Pod", "Container", "PersistentVolumeClaim"}

// ValidateLimitRange checks that each type has one item, with consistent bounds.
func (Policy) ValidateLimitRange(obj, _ document.Value) []schema.Cause {
	var c causes
	for _, item := range obj.At("spec", "limits").Elements() {
		kind := item.Get("type")
		switch name, field := kind.Text(), member(item, "type"); {
		case slices.Contains(limitTypes, name):
		case len(document.CheckFormat("qualified-name", name)) > 0:
			c.FormatText(field, name, "qualified-name")
		case !strings.Contains(name, "/"):
			c.InvalidText(field, name, "must be a standard limit type or fully qualified")
		}
		c.limitItem(item, kind.Text())
	}
	return c.Causes
}

func (c *causes) limitItem(item document.Value, kind string) {
	var resources []string
	for _, name := range [...]string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"} {
		amounts := item.Get(name)
		if kind == "Pod" && (name == "default" || name == "defaultRequest") {
			continue // refused by the schema
		}
		for resource := range amounts.Members() {
			if kind == "Pod" || kind == "Container" {
				c.containerResourceName(key(amounts, resource), resource)
			} else {
				c.resourceName(key(amounts, resource), resource)
			}
			resources = append(resources, resource)
		}
	}
	slices.Sort(resources)
	for _, resource := range slices.Compact(resources) {
		c.limitBounds(item, resource, kind == "Pod")
	}
}

// bound is one of the amounts of a resource in a limit range.
type bound struct {
	amounts, v document.Value
	what       string
}

// limitBounds checks min <= defaultRequest <= default <= max, and the ratio.
func (c *causes) limitBounds(item document.Value, resource string, isPod bool) {
	get := func(name, what string) bound {
		amounts := item.Get(name)
		return bound{amounts, amounts.Get(resource), what}
	}
	low, high := get("min", "min"), get("max", "max")
	limit, request := get("default", "default"), get("defaultRequest", "default request")
	if isPod {
		limit, request = bound{}, bound{}
	}
	// greater reports a at the bound named third.
	greater := func(a, b, at bound) {
		if a.v.Exists() && b.v.Exists() && compare(a.v, b.v) > 0 {
			c.InvalidAt(key(at.amounts, resource), at.v, a.what+" value "+a.v.Text()+" is greater than "+b.what+" value "+b.v.Text())
		}
	}
	greater(low, high, low)
	greater(low, request, request)
	greater(request, high, request)
	greater(request, bound{limit.amounts, limit.v, "default limit"}, request)
	greater(low, limit, limit)
	greater(limit, high, limit)
	if !mayOvercommit(resource) && limit.v.Exists() && request.v.Exists() && compare(limit.v, request.v) != 0 {
		c.InvalidAt(key(request.amounts, resource), request.v, "default value "+limit.v.Text()+" must equal to defaultRequest value "+request.v.Text()+" in "+resource)
	}
	c.limitRatio(get("maxLimitRequestRatio", ""), low, high, resource)
}

// limitRatio checks the ratio of limits to requests.
func (c *causes) limitRatio(ratio, low, high bound, name string) {
	if !ratio.v.Exists() {
		return
	}
	q := amount(ratio.v)
	if q.CmpInt64(1) < 0 {
		c.InvalidAt(key(ratio.amounts, name), ratio.v, "ratio "+ratio.v.Text()+" is less than 1")
	}
	if !low.v.Exists() || !high.v.Exists() || isZero(low.v) {
		return
	}
	lowest, highest := amount(low.v), amount(high.v)
	most, from, to := float64(q.Value()), lowest.Value(), highest.Value()
	if max(q.Value(), from, to) < resource.MaxMilliValue {
		most, from, to = float64(q.MilliValue())/1000, lowest.MilliValue(), highest.MilliValue()
	}
	if bounds := float64(to) / float64(from); most > bounds {
		c.InvalidAt(key(ratio.amounts, name), ratio.v,
			"ratio "+ratio.v.Text()+" is greater than max/min = "+strconv.FormatFloat(bounds, 'f', 6, 64))
	}
}
