package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// defaultAffinitySeconds is how long a client stays with its pod.
const defaultAffinitySeconds = 10800

// DefaultServicePort sends traffic to the port that it came to.
func (Policy) DefaultServicePort(port document.Value) {
	target := port.Get("targetPort")
	if n, _ := target.Int(); n != 0 || target.Text() != "" {
		return
	}
	if n, ok := port.Get("port").Int(); ok {
		port.SetInt("targetPort", n)
	}
}

// DefaultServiceSpec sets what depends on the type of the service.
func (Policy) DefaultServiceSpec(spec document.Value) {
	kind := spec.Get("type").Text()
	if spec.Get("sessionAffinity").Equals("ClientIP") {
		client := spec.SetObject("sessionAffinityConfig").SetObject("clientIP")
		if !client.Get("timeoutSeconds").Exists() {
			client.SetInt("timeoutSeconds", defaultAffinitySeconds)
		}
	} else {
		spec.Remove("sessionAffinityConfig")
	}
	setDefault := func(name, value string) {
		if spec.Get(name).Text() == "" {
			spec.SetString(name, value)
		}
	}
	if kind == "NodePort" || kind == "LoadBalancer" {
		setDefault("externalTrafficPolicy", "Cluster")
	}
	if kind != "ExternalName" {
		setDefault("internalTrafficPolicy", "Cluster")
	}
	if kind == "LoadBalancer" && !spec.Get("allocateLoadBalancerNodePorts").Exists() {
		spec.SetBool("allocateLoadBalancerNodePorts", true)
	}
}

// UpdateService keeps the addresses that the service has.
func (Policy) UpdateService(service, old document.Value) {
	spec, before := service.Get("spec"), old.Get("spec")
	if !same(spec.Get("type"), before.Get("type")) {
		return
	}
	for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
		if v := spec.Get(name); (v.Len() == 0 && v.Text() == "") && before.Get(name).Exists() {
			spec.Put(name, before.Get(name))
		}
	}
}

// ValidateService checks what spans several fields of a service.
func (Policy) ValidateService(service, old document.Value) []schema.Cause {
	var c causes
	spec := service.Get("spec")
	kind := spec.Get("type").Text()
	ports := spec.Get("ports")
	headless := spec.Get("clusterIP").Equals("None")
	if kind == "ExternalName" {
		if spec.Get("externalName").Text() == "" {
			c.required("spec.externalName", "")
		}
	} else if ports.Len() == 0 && !headless {
		c.required("spec.ports", "")
	}
	names, numbers := map[string]bool{}, map[string]bool{}
	for i, port := range ports.Elements() {
		field := index("spec.ports", i)
		name := port.Get("name")
		if name.Text() == "" && ports.Len() > 1 {
			c.required(field+".name", "")
		}
		if names[name.Text()] && name.Text() != "" {
			c.add(schema.CauseDuplicate, field+".name", "Duplicate value: "+show(name))
		}
		names[name.Text()] = true
		key := show(port.Get("protocol")) + show(port.Get("port"))
		if numbers[key] {
			c.add(schema.CauseDuplicate, field, "Duplicate value: "+show(port))
		}
		numbers[key] = true
	}
	if before := old.At("spec", "clusterIPs").Index(0); before.Exists() && same(spec.Get("type"), old.At("spec", "type")) {
		if now := spec.Get("clusterIPs").Index(0); !same(now, before) {
			c.invalid("spec.clusterIPs[0]", now, "may not change once set")
		}
	}
	return c
}
