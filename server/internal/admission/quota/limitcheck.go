package quota

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// check lists the bounds that a pod or a claim for a volume breaks.
func (l *limitRange) check(obj document.Value, isPod bool) (broken []string) {
	for _, item := range l.limits {
		switch {
		case isPod && item.kind == "Container":
			for _, list := range [...]string{"containers", "initContainers"} {
				for _, c := range obj.At("spec", list).Elements() {
					of := c.Get("resources")
					broken = item.check(broken, readAmounts(of.Get("requests")), readAmounts(of.Get("limits")))
				}
			}
		case isPod && item.kind == "Pod":
			broken = item.check(broken, podTotal(obj, "requests"), podTotal(obj, "limits"))
		case !isPod && item.kind == "PersistentVolumeClaim":
			requests := readAmounts(obj.At("spec", "resources", "requests"))
			for _, b := range item.least {
				broken = add(broken, item.low(b, requests, nil))
			}
			for _, b := range item.most {
				broken = add(broken, item.highRequest(b, requests))
			}
		}
	}
	return broken
}

func (l *limit) check(broken []string, requests, limits amounts) []string {
	for _, b := range l.least {
		broken = add(broken, l.low(b, requests, limits))
	}
	for _, b := range l.most {
		broken = add(broken, l.high(b, requests, limits))
	}
	for _, b := range l.ratio {
		broken = add(broken, l.apart(b, requests, limits))
	}
	return broken
}

func add(broken []string, text string) []string {
	if text == "" {
		return broken
	}
	return append(broken, text)
}

// podTotal is the sum of a pod's containers, of the amounts that all of them have, and at
// least that of each init container.
func podTotal(pod document.Value, member string) amounts {
	spec := pod.Get("spec")
	if kinds.HasAmounts(spec.Get("resources")) || spec.Get("initContainers").ElementBy("restartPolicy", "Always").Exists() { // since 1.28
		return amounts(kinds.PodAmounts(spec, member))
	}
	var sums map[string]int64
	for _, c := range pod.At("spec", "containers").Elements() {
		own := readAmounts(c.At("resources", member))
		before := sums
		sums = map[string]int64{}
		for name, q := range own {
			sum, all := before[name]
			if before != nil && !all {
				continue
			}
			if name == "cpu" {
				sums[name] = sum + q.Milli()
			} else {
				sums[name] = sum + q.Value()
			}
		}
	}
	total := amounts{}
	for name, n := range sums {
		if name == "cpu" {
			total[name] = quantity.NewMilli(n)
		} else {
			total[name] = quantity.New(n, quantity.Decimal)
		}
	}
	for _, c := range pod.At("spec", "initContainers").Elements() {
		for name, q := range readAmounts(c.At("resources", member)) {
			if sum, ok := total[name]; !ok || q.Compare(sum) > 0 {
				total[name] = q
			}
		}
	}
	return total
}

// comparable are three amounts in thousandths, or whole when those do not fit.
func comparable(request, limit, enforced quantity.Quantity) (r, l, e int64) {
	r, l, e = request.Value(), limit.Value(), enforced.Value()
	if max(r, l, e) <= quantity.MaxMilli {
		return request.Milli(), limit.Milli(), enforced.Milli()
	}
	return r, l, e
}

func (l *limit) low(b bound, requests, limits amounts) string {
	request, requested := requests[b.resource]
	most, bounded := limits[b.resource]
	asked, top, least := comparable(request, most, b.Quantity)
	why := fmt.Sprintf("minimum %s usage per %s is %s", b.resource, l.kind, b.text)
	switch {
	case !requested:
		return why + ".  No request is specified"
	case asked < least:
		return why + ", but request is " + request.String()
	case bounded && top < least:
		return why + ", but limit is " + most.String()
	}
	return ""
}

func (l *limit) high(b bound, requests, limits amounts) string {
	request, requested := requests[b.resource]
	most, bounded := limits[b.resource]
	asked, top, highest := comparable(request, most, b.Quantity)
	why := fmt.Sprintf("maximum %s usage per %s is %s", b.resource, l.kind, b.text)
	switch {
	case !bounded:
		return why + ".  No limit is specified"
	case top > highest:
		return why + ", but limit is " + most.String()
	case requested && asked > highest:
		return why + ", but request is " + request.String()
	}
	return ""
}

// highRequest is high for things without limits.
func (l *limit) highRequest(b bound, requests amounts) string {
	request, requested := requests[b.resource]
	asked, _, highest := comparable(request, quantity.Quantity{}, b.Quantity)
	why := fmt.Sprintf("maximum %s usage per %s is %s", b.resource, l.kind, b.text)
	switch {
	case !requested:
		return why + ".  No request is specified"
	case asked > highest:
		return why + ", but request is " + request.String()
	}
	return ""
}

// apart checks the ratio of limit and request.
func (l *limit) apart(b bound, requests, limits amounts) string {
	request, requested := requests[b.resource]
	most, bounded := limits[b.resource]
	asked, top, _ := comparable(request, most, b.Quantity)
	why := fmt.Sprintf("%s max limit to request ratio per %s is %s, but ", b.resource, l.kind, b.text)
	switch {
	case !requested || asked == 0:
		return why + "no request is specified or request is 0"
	case !bounded || top == 0:
		return why + "no limit is specified or limit is 0"
	}
	ratio, shown := float64(top)/float64(asked), float64(top)/float64(asked)
	highest := float64(b.Value())
	if b.Value() <= quantity.MaxMilli {
		ratio, highest = ratio*1000, float64(b.Milli())
	}
	if ratio > highest {
		return fmt.Sprintf("%sprovided ratio is %f", why, shown)
	}
	return ""
}
