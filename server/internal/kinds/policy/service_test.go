package policy_test

import (
	"strings"
	"testing"
)

const serviceHead = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"

func TestServiceDefaults(t *testing.T) {
	runHooks(t, serviceHead, []hookCase{
		{"target", "spec: {ports: [{port: 80}]}", "spec/ports", `[{"protocol":"TCP","port":80,"targetPort":80}]`},
		{"named target", "spec: {ports: [{port: 80, targetPort: web}]}", "spec/ports/0/targetPort", `"web"`},
		{"affinity", "spec: {sessionAffinity: ClientIP}", "spec/sessionAffinityConfig", `{"clientIP":{"timeoutSeconds":10800}}`},
		{"no affinity", "spec: {sessionAffinityConfig: {clientIP: {timeoutSeconds: 5}}}", "spec/sessionAffinityConfig", ``},
		{"cluster", "spec: {}", "spec/internalTrafficPolicy", `"Cluster"`},
		{"cluster", "spec: {}", "spec/externalTrafficPolicy", ``},
		{"node port", "spec: {type: NodePort}", "spec/externalTrafficPolicy", `"Cluster"`},
		{"node port", "spec: {type: NodePort}", "spec/allocateLoadBalancerNodePorts", ``},
		{"load balancer", "spec: {type: LoadBalancer}", "spec/allocateLoadBalancerNodePorts", `true`},
		{"external name", "spec: {type: ExternalName}", "spec/internalTrafficPolicy", ``},
		{"status", "spec: {}", "status", `{"loadBalancer":{}}`},
		{"address", "spec: {clusterIP: 10.0.0.1}", "spec/clusterIPs", `["10.0.0.1"]`},
		{"headless", "spec: {clusterIP: None}", "spec/clusterIPs", `["None"]`},
		{"no address", "spec: {}", "spec/clusterIPs", ``},
	})
}

func TestServiceRules(t *testing.T) {
	port := func(rest string) string { return "spec: {ports: [{port: 80" + rest + "}]}" }
	with := func(rest string) string { return "spec: {ports: [{port: 80}], " + rest + "}" }
	runCreate(t, serviceHead, []createCase{
		{"right", port(""), ""},
		{"no ports", "spec: {}", "spec.ports: Required"},
		{"headless", "spec: {clusterIP: None}", ""},
		{"port 0", "spec: {ports: [{port: 0}]}", "spec.ports[0].port: Invalid; spec.ports[0].targetPort: Invalid"},
		{"target name", port(", targetPort: a_b"), "spec.ports[0].targetPort: Invalid"},
		{"names", "spec: {ports: [{port: 80}, {port: 81}]}", "spec.ports[0].name: Required; spec.ports[1].name: Required"},
		{"same names", "spec: {ports: [{port: 80, name: a}, {port: 81, name: a}]}", "spec.ports[1].name: Duplicate"},
		{"node port", port(", nodePort: 30001"), "spec.ports[0].nodePort: Forbidden"},
		{"node port of a type", "spec: {type: NodePort, ports: [{port: 80, nodePort: 30001}]}", ""},
		{"same node port", "spec: {type: NodePort, ports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81, nodePort: 30001}]}", "spec.ports[1].nodePort: Duplicate"},
		{"agent's port", "spec: {type: LoadBalancer, ports: [{port: 10250}]}", "spec.ports[0]: Invalid"},
		{"address", with("clusterIP: x"), "spec.clusterIPs[0]: Invalid"},
		{"headless node port", with("type: NodePort, clusterIP: None"), "spec.clusterIPs[0]: Invalid"},
		{"first address", with("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.2]"), "spec.clusterIPs: Invalid"},
		{"one family", with("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 10.0.0.2]"), "spec.clusterIPs: Invalid"},
		{"wrong family", with("clusterIP: 10.0.0.1, ipFamilies: [IPv6]"), "spec.clusterIPs[0]: Invalid"},
		{"same families", with("ipFamilies: [IPv4, IPv4]"), "spec.ipFamilies[1]: Duplicate"},
		{"external name", "spec: {type: ExternalName}", "spec.externalName: Required"},
		{"external name dot", "spec: {type: ExternalName, externalName: a.b.}", ""},
		{"external name bad", "spec: {type: ExternalName, externalName: a_b}", "spec.externalName: Invalid"},
		{"external name address", "spec: {type: ExternalName, externalName: a.b, clusterIP: 10.0.0.1}", "spec.clusterIPs: Forbidden"},
		{"external IP", with("externalIPs: [127.0.0.1]"), "spec.externalIPs[0]: Invalid"},
		{"external IP text", with("externalIPs: [x]"), "spec.externalIPs[0]: Invalid"},
		{"traffic", with("externalTrafficPolicy: Local"), "spec.externalTrafficPolicy: Invalid"},
		{"health", with("type: LoadBalancer, healthCheckNodePort: 30001"), "spec.healthCheckNodePort: Invalid"},
		{"health local", with("type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 30001"), ""},
		{"ranges", with("loadBalancerSourceRanges: [10.0.0.0/8]"), "spec.LoadBalancerSourceRanges: Forbidden"},
		{"allocate", with("allocateLoadBalancerNodePorts: true"), "spec.allocateLoadBalancerNodePorts: Forbidden"},
		{"class", with("loadBalancerClass: a"), "spec.loadBalancerClass: Forbidden"},
		{"selector key", with("selector: {'a b': c}"), "spec.selector: Invalid"},
	})
}

func TestServiceUpdate(t *testing.T) {
	ip := "clusterIP: 10.0.0.1, ports: [{port: 80}]"
	spec := func(text string) string { return "spec: {" + text + "}" }
	balanced := "clusterIP: 10.0.0.1, type: LoadBalancer, loadBalancerClass: a, ports: [{port: 80, nodePort: 30001}]"
	runUpdate(t, serviceHead, []updateCase{
		{"unset keeps", spec(ip), spec("ports: [{port: 80}]"), ""},
		{"other address", spec(ip), spec("clusterIP: 10.0.0.2, ports: [{port: 80}]"), "spec.clusterIPs[0]: Invalid"},
		{"both forms", spec(ip), spec("clusterIP: 10.0.0.2, clusterIPs: [10.0.0.2], ports: [{port: 80}]"), "spec.clusterIPs[0]: Invalid"},
		{"second address", spec(ip), spec("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack, ports: [{port: 80}]"), ""},
		{"family", spec(ip), spec("clusterIP: 10.0.0.1, ipFamilies: [IPv6], ports: [{port: 80}]"), "spec.clusterIPs[0]: Invalid"},
		{"to a name", spec(ip), spec("type: ExternalName, externalName: a.b, ports: [{port: 80}]"), ""},
		{"to a name with the address", spec(ip), spec("type: ExternalName, externalName: a.b, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{port: 80}]"), ""},
		{"from a name", "spec: {type: ExternalName, externalName: a.b}", spec(ip), ""},
		{"class", spec(balanced), spec("type: LoadBalancer, loadBalancerClass: b, ports: [{port: 80}]"), "spec.loadBalancerClass: Invalid"},
		{"to cluster", spec(balanced), spec("allocateLoadBalancerNodePorts: true, loadBalancerClass: a, externalTrafficPolicy: Cluster, ports: [{port: 80, nodePort: 30001}]"), ""},
	})
	old, r := create(t, serviceHead+spec(balanced+", externalTrafficPolicy: Local, healthCheckNodePort: 30002"))
	obj, _ := decode(t, serviceHead+spec("type: LoadBalancer, loadBalancerClass: a, externalTrafficPolicy: Local, ports: [{port: 80}, {port: 81, name: b}]"))
	r.Hooks.Update(obj, old)
	expectAt(t, obj, "spec/ports/0/nodePort", "30001")
	expectAt(t, obj, "spec/ports/1/nodePort", "")
	expectAt(t, obj, "spec/healthCheckNodePort", "30002")
	expectAt(t, obj, "spec/clusterIP", `"10.0.0.1"`)
	expectAt(t, obj, "spec/clusterIPs", `["10.0.0.1"]`)

	obj, _ = decode(t, serviceHead+spec("type: ExternalName, externalName: a.b"))
	r.Hooks.Update(obj, old)
	for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"} {
		expectAt(t, obj, "spec/"+name, "")
	}

	again, _ := decode(t, serviceHead+spec("clusterIP: 10.0.0.9, ports: [{port: 80}]"))
	r.Hooks.Update(again, obj)
	expectAt(t, again, "spec/clusterIPs", `["10.0.0.9"]`)
}

func TestServiceCells(t *testing.T) {
	runCells(t, serviceHead, []cellCase{
		{"none", "spec: {}", "Cluster-IP", "<none>"},
		{"one", "spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}", "Cluster-IP", "10.0.0.1"},
		{"none", "spec: {}", "External-IP", "<none>"},
		{"two", "spec: {type: NodePort, externalIPs: [1.2.3.4, 1.2.3.3]}", "External-IP", "1.2.3.4,1.2.3.3"},
		{"name", "spec: {type: ExternalName, externalName: a.b}", "External-IP", "a.b"},
		{"pending", "spec: {type: LoadBalancer}", "External-IP", "<pending>"},
		{"balanced", "spec: {type: LoadBalancer, externalIPs: [9.9.9.9]}\nstatus: {loadBalancer: {ingress: [{ip: 2.2.2.2}, {hostname: h}, {ip: 1.1.1.1}]}}", "External-IP", "1.1.1.1,2.2.2.2,h,9.9.9.9"},
		{"none", "spec: {}", "Port(s)", "<none>"},
		{"two", "spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}, {port: 53, protocol: UDP}]}", "Port(s)", "80:30080/TCP,53/UDP"},
		{"none", "spec: {}", "Selector", "<none>"},
		{"one", "spec: {selector: {a: b}}", "Selector", "a=b"},
	})
}

func TestEndpoints(t *testing.T) {
	head := "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n"
	runCreate(t, head, []createCase{
		{"right", "subsets: [{addresses: [{ip: 1.2.3.4}], ports: [{port: 80}]}]", ""},
		{"empty", "subsets: [{ports: [{port: 80}]}]", "subsets[0]: Required"},
		{"no address", "subsets: [{addresses: [{ip: x}]}]", "subsets[0].addresses[0].ip: Invalid"},
		{"local", "subsets: [{notReadyAddresses: [{ip: 169.254.1.1}, {ip: 224.0.0.1}, {ip: 0.0.0.0}, {ip: '::1'}]}]",
			"subsets[0].notReadyAddresses[0].ip: Invalid; subsets[0].notReadyAddresses[1].ip: Invalid; subsets[0].notReadyAddresses[2].ip: Invalid; subsets[0].notReadyAddresses[3].ip: Invalid"},
		{"names", "subsets: [{addresses: [{ip: 1.2.3.4}], ports: [{port: 80}, {port: 81, name: a}]}]", "subsets[0].ports[0].name: Required"},
	})
	runCells(t, head, []cellCase{
		{"none", "", "Endpoints", "<none>"},
		{"not ready", "subsets: [{notReadyAddresses: [{ip: 1.2.3.4}]}]", "Endpoints", ""},
		{"no port", "subsets: [{addresses: [{ip: 1.2.3.4}]}]", "Endpoints", "1.2.3.4"},
		{"six", "subsets: [{addresses: [{ip: 1.2.3.4}, {ip: 'fd00::1'}], ports: [{port: 80}, {port: 81}]}]", "Endpoints", "1.2.3.4:80,[fd00::1]:80,1.2.3.4:81 + 1 more..."},
	})
}

func TestServiceStackUpdate(t *testing.T) {
	dual := func(rest string) string { return "spec: {ports: [{port: 80}], " + rest + "}" }
	old := dual("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: RequireDualStack")
	runUpdate(t, serviceHead, []updateCase{
		{"same", old, old, ""},
		{"second address", old, strings.Replace(old, "fd00::1", "fd00::2", 1), "spec.clusterIPs[1]: Invalid"},
		{"second given up", old, dual("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack"), ""},
		{"second given up, not said", old, dual("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: PreferDualStack"), "spec.ipFamilyPolicy: Invalid"},
		{"first given up", old, dual("clusterIP: 'fd00::1', clusterIPs: ['fd00::1'], ipFamilies: [IPv6], ipFamilyPolicy: SingleStack"), "spec.clusterIPs[0]: Invalid; spec.ipFamilies[0]: Invalid"},
		{"families exchanged", old, dual("clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1'], ipFamilies: [IPv6, IPv4], ipFamilyPolicy: RequireDualStack"),
			"spec.ipFamilies[0]: Invalid; spec.ipFamilies[1]: Invalid; spec.clusterIPs[0]: Invalid; spec.clusterIPs[1]: Invalid"},
		{"from headless", dual("clusterIP: None"), dual("clusterIP: 10.0.0.1"), "spec.clusterIPs[0]: Invalid"},
		{"to headless", dual("clusterIP: 10.0.0.1"), dual("clusterIP: None"), "spec.clusterIPs[0]: Invalid"},
		{"headless changes its families", dual("clusterIP: None, ipFamilies: [IPv4], ipFamilyPolicy: SingleStack"), dual("clusterIP: None, ipFamilies: [IPv6], ipFamilyPolicy: SingleStack"), ""},
	})
}
