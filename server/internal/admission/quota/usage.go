package quota

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// Names of the amounts that quotas bound.
//
//	"count/deployments.apps"                              objects of a type
//	"pods", "services", "configmaps"                      older names for some of these
//	"requests.cpu", "cpu", "limits.cpu"                   sums over pods
//	"hugepages-2Mi", "requests.example.com/gpu"
//	"requests.storage"                                    a sum over claims for volumes
//	"gold.storageclass.storage.k8s.io/requests.storage"   of those of one class

const storageClass = ".storageclass.storage." + profile.GroupSuffix + "/"

var (
	plainCounts = []string{"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}
	podAmounts  = []string{"pods", "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu",
		"limits.memory", "limits.ephemeral-storage"}
	serviceAmounts = []string{"services", "services.nodeports", "services.loadbalancers"}
	claimAmounts   = []string{"persistentvolumeclaims", "requests.storage"}
	// neededAmounts are those that each container must name where a quota bounds them.
	neededAmounts = []string{"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"}
)

// countName is the name of the number of objects of a type.
func countName(of api.GroupResource) string {
	if of.Group == "" {
		return "count/" + of.Resource
	}
	return "count/" + of.Resource + "." + of.Group
}

// uncounted reports whether quotas disregard a type.
func uncounted(of api.GroupResource) bool {
	return of.Resource == "events" && (of.Group == "" || of.Group == "events."+profile.GroupSuffix)
}

// counts reports whether objects of a type have a part in the amount with a name.
func counts(of api.GroupResource, name string) bool {
	switch {
	case strings.HasPrefix(name, "count/"):
		return name == countName(of)
	case of.Group != "":
		return false
	}
	switch of.Resource {
	case "pods":
		return slices.Contains(podAmounts, name) || strings.HasPrefix(name, "hugepages-") || strings.HasPrefix(name, "requests.hugepages-") ||
			strings.HasPrefix(name, "requests.") && !isNative(name)
	case "services":
		return slices.Contains(serviceAmounts, name)
	case "persistentvolumeclaims":
		if at := strings.LastIndex(name, storageClass); at >= 0 {
			name = name[at+len(storageClass):]
		}
		return slices.Contains(claimAmounts, name)
	}
	return name == of.Resource && slices.Contains(plainCounts, name)
}

// isNative reports whether an amount is the system's own.
func isNative(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, profile.LabelDomain+"/")
}

// usage is the part of an object in all amounts.
func (q *Quotas) usage(of api.GroupResource, obj document.Value, now time.Time) amounts {
	out := amounts{countName(of): number(1)}
	switch {
	case of.Group != "":
	case of.Resource == "pods" && alive(obj, now):
		q.addPod(out, obj)
	case of.Resource == "services":
		addService(out, obj.Get("spec"))
	case of.Resource == "persistentvolumeclaims":
		addClaim(out, obj)
	case slices.Contains(plainCounts, of.Resource):
		out[of.Resource] = number(1)
	}
	return out
}

func number(n int) quantity.Quantity { return quantity.New(int64(n), quantity.Decimal) }

// alive reports whether a pod uses what it requests: it has not ended, and is not overdue.
func alive(pod document.Value, now time.Time) bool {
	if phase := pod.At("status", "phase"); phase.Equals("Failed") || phase.Equals("Succeeded") {
		return false
	}
	meta := pod.Get("metadata")
	end, err := time.Parse(time.RFC3339, meta.Get("deletionTimestamp").Text())
	grace, graceful := meta.Get("deletionGracePeriodSeconds").Int()
	return err != nil || !graceful || !now.After(end.Add(time.Duration(grace)*time.Second))
}

// addPod adds what a pod has: by itself, by its containers, and the overhead, from 1.27 on only next to limits that there are.
func (q *Quotas) addPod(out amounts, pod document.Value) {
	all := func(member string) amounts {
		if q.cfg.Resizes && q.cfg.Since("1.32") {
			return amounts(kinds.HeldAmounts(pod, member, q.cfg.Since))
		}
		return amounts(kinds.PodAmounts(pod.Get("spec"), member))
	}
	requests, limits := all("requests"), all("limits")
	overhead := readAmounts(pod.At("spec", "overhead"))
	requests.add(overhead)
	if q.cfg.Since("1.27") {
		maps.DeleteFunc(overhead, func(name string, _ quantity.Quantity) bool { return limits[name].Sign() == 0 })
	}
	limits.add(overhead)
	out["pods"] = number(1)
	for name, q := range named(requests, limits) {
		out[name] = q
	}
}

// named are the names and amounts in quotas of requests and limits.
func named(requests, limits amounts) amounts {
	out := amounts{}
	for name, q := range requests {
		switch {
		case name == "cpu", name == "memory", name == "ephemeral-storage", strings.HasPrefix(name, "hugepages-"):
			out[name] = q
			fallthrough
		case !isNative(name) && !strings.HasPrefix(name, "requests."):
			out["requests."+name] = q
		}
	}
	for _, name := range [...]string{"cpu", "memory", "ephemeral-storage"} {
		if q, ok := limits[name]; ok {
			out["limits."+name] = q
		}
	}
	return out
}

// unnamed lists the needed amounts that containers of a pod do not name, as text.
func unnamed(pod document.Value, bounded []string) string {
	var all []string
	if kinds.HasAmounts(pod.At("spec", "resources")) {
		return "" // the pod names them for all
	}
	for _, name := range neededAmounts {
		if !slices.Contains(bounded, name) {
			continue
		}
		var containers []string
		for _, list := range [...]string{"containers", "initContainers"} {
			for _, c := range pod.At("spec", list).Elements() {
				of := c.Get("resources")
				if _, ok := named(readAmounts(of.Get("requests")), readAmounts(of.Get("limits")))[name]; !ok {
					containers = append(containers, c.Get("name").Text())
				}
			}
		}
		if len(containers) > 0 {
			slices.Sort(containers)
			all = append(all, name+" for: "+strings.Join(slices.Compact(containers), ","))
		}
	}
	return strings.Join(all, "; ")
}

func addService(out amounts, spec document.Value) {
	ports, balancers := 0, 0
	switch kind := spec.Get("type"); {
	case kind.Equals("NodePort"):
		ports = spec.Get("ports").Len()
	case kind.Equals("LoadBalancer"):
		balancers = 1
		given := spec.Get("allocateLoadBalancerNodePorts")
		for _, port := range spec.Get("ports").Elements() {
			if n, _ := port.Get("nodePort").Int(); n != 0 || !given.Exists() || given.Bool() {
				ports++
			}
		}
	}
	out["services"], out["services.nodeports"], out["services.loadbalancers"] = number(1), number(ports), number(balancers)
}

func addClaim(out amounts, claim document.Value) {
	out["persistentvolumeclaims"] = number(1)
	if request := claim.At("spec", "resources", "requests", "storage"); request.Exists() {
		out["requests.storage"], _ = amount(request).RoundUp(0)
	}
	class := claim.At("metadata", "annotations", "volume.beta."+profile.LabelDomain+"/storage-class")
	if !class.Exists() {
		class = claim.At("spec", "storageClassName")
	}
	if name := class.Text(); name != "" {
		for _, amount := range claimAmounts {
			if q, ok := out[amount]; ok {
				out[name+storageClass+amount] = q
			}
		}
	}
}
