package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// claims are the addresses and node ports of a service. One that is only another name
// owns none, whatever its spec says.
func claims(o *record.Object) (all []string) {
	kind := o.Text("spec", "type")
	if kind == "ExternalName" {
		return nil
	}
	ips, _ := o.Field("spec", "clusterIPs").([]any)
	for _, ip := range ips {
		if ip != "None" && ip != "" {
			all = append(all, fmt.Sprint("address ", ip))
		}
	}
	ports, _ := o.Field("spec", "ports").([]any)
	for _, p := range ports {
		port, _ := p.(map[string]any)
		if n, ok := port["nodePort"].(float64); ok && n > 0 && kind != "ClusterIP" {
			protocol, _ := port["protocol"].(string)
			all = append(all, fmt.Sprintf("node port %s %.0f", protocol, n))
		}
	}
	return all
}

// owned follows the tape: an address or a port has one service at a time.
func owned(r *record.Record) (wrong []string) {
	owner, has := make(map[string]string), make(map[string][]string)
	for _, e := range r.Tape {
		if e.Resource != "services" {
			continue
		}
		key := e.Key()
		for _, claim := range has[key] {
			delete(owner, claim)
		}
		delete(has, key)
		if e.Type == history.Deleted {
			continue
		}
		for _, claim := range claims(e.Object) {
			if other := owner[claim]; other != "" {
				wrong = append(wrong, fmt.Sprintf("%s@%d has %s, which %s has", key, e.Revision, claim, other))
				continue
			}
			owner[claim] = key
			has[key] = append(has[key], claim)
		}
	}
	return wrong
}
