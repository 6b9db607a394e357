package policy_test

import "testing"

func TestIngress(t *testing.T) {
	head := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n"
	path := func(text string) string {
		return "spec: {rules: [{http: {paths: [{backend: {service: {name: s, port: {number: 80}}}, " + text + "}]}}]}"
	}
	backend := func(text string) string { return "spec: {defaultBackend: {" + text + "}}" }
	host := func(text string) string { return "spec: {rules: [{host: '" + text + "'}]}" }
	atPath, atHost := "spec.rules[0].http.paths[0].path", "spec.rules[0].host"
	runCreate(t, head, []createCase{
		{"nothing", "spec: {}", "spec: Invalid"},
		{"right", path("path: /a, pathType: Exact"), ""},
		{"prefix of nothing", path("pathType: Prefix"), atPath + ": Invalid"},
		{"anything", path("pathType: ImplementationSpecific"), ""},
		{"relative", path("pathType: ImplementationSpecific, path: a"), atPath + ": Invalid"},
		{"dots", path("pathType: Exact, path: /a/../b"), atPath + ": Invalid"},
		{"dots at the end", path("pathType: Prefix, path: /a/.."), atPath + ": Invalid"},
		{"escaped", path("pathType: Prefix, path: /a%2Fb"), atPath + ": Invalid"},
		{"no type", path("path: /"), "spec.rules[0].http.paths[0].pathType: Required"},
		{"host", host("*.example.com"), ""},
		{"star", host("a.*.com"), atHost + ": Invalid"},
		{"address", host("10.0.0.1"), atHost + ": Invalid"},
		{"port", host("a:80"), atHost + ": Invalid"},
		{"resource", backend("resource: {kind: K, name: nn}"), ""},
		{"resource path", backend("resource: {apiGroup: 'a b', kind: a/b, name: c%d}"),
			"spec.defaultBackend.resource.apiGroup: Invalid; spec.defaultBackend.resource.kind: Invalid; spec.defaultBackend.resource.name: Invalid"},
		{"both", backend("resource: {kind: K, name: nn}, service: {name: s, port: {number: 1}}"), "spec.defaultBackend: Invalid"},
		{"both and wrong", backend("resource: {}, service: {port: {name: '-'}}"), "spec.defaultBackend: Invalid"},
		{"two ports and wrong", backend("service: {name: s, port: {name: '-', number: 99999}}"), "spec.defaultBackend: Invalid"},
		{"no type and no backend", "spec: {rules: [{http: {paths: [{}]}}]}", "spec.rules[0].http.paths[0].pathType: Required"},
		{"none", "spec: {defaultBackend: {}}", "spec.defaultBackend: Invalid"},
		{"no port", backend("service: {name: s}"), "spec.defaultBackend: Required"},
		{"two ports", backend("service: {name: s, port: {name: a, number: 1}}"), "spec.defaultBackend: Invalid"},
		{"wrong names", backend("service: {name: S, port: {name: '-'}}"), "spec.defaultBackend.service.name: Invalid; spec.defaultBackend.service.port.name: Invalid"},
		{"certificate", "spec: {defaultBackend: {resource: {kind: K, name: nn}}, tls: [{hosts: [A], secretName: B}]}",
			"spec.tls[0].hosts[0]: Invalid; spec.tls[0].secretName: Invalid"},
	})
	twice := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, annotations: {kubernetes.io/ingress.class: a}}\nspec: {ingressClassName: a, defaultBackend: {resource: {kind: K, name: nn}}}"
	runCreate(t, "", []createCase{{"two classes", twice, "annotations.kubernetes.io/ingress.class: Invalid"}})
	runUpdate(t, "", []updateCase{{"two classes that are there", twice, twice, ""}})
	served, at := backend("resource: {kind: K, name: nn}"), "status.loadBalancer.ingress"
	runStatus(t, head, []updateCase{
		{"addresses", served, served + "\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {hostname: a.b}, {ip: x}, {hostname: a_b}, {hostname: 1.2.3.4}]}}",
			at + "[2].ip: Invalid; " + at + "[3].hostname: Invalid; " + at + "[4].hostname: Invalid"},
	})
	runCells(t, head, []cellCase{
		{"all", "spec: {}", "Hosts", "*"},
		{"three", "spec: {rules: [{host: a}, {host: b}, {host: c}]}", "Hosts", "a,b,c"},
		{"five", "spec: {rules: [{host: a}, {host: b}, {host: c}, {host: d}, {host: e}]}", "Hosts", "a,b,c + 2 more..."},
		{"none", "spec: {}", "Class", "<none>"},
		{"class", "spec: {ingressClassName: c}", "Class", "c"},
		{"plain", "spec: {}", "Ports", "80"},
		{"addresses", "spec: {}\nstatus: {loadBalancer: {ingress: [{hostname: h}, {ip: 1.2.3.4}]}}", "Address", "1.2.3.4,h"},
	})
}

func TestIngressClass(t *testing.T) {
	head := "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: i}\n"
	with := func(text string) string {
		return "spec: {controller: a.b/c, parameters: {kind: K, name: nn, " + text + "}}"
	}
	runCreate(t, head, []createCase{
		{"nothing", "spec: {}", "spec.controller: Required"},
		{"no path", "spec: {controller: a.b}", "spec.controller: Invalid"},
		{"no domain", "spec: {controller: a_b/c}", "spec.controller: Invalid"},
		{"cluster", with("scope: Cluster"), ""},
		{"default", with("namespace: ns"), "spec.parameters.namespace: Forbidden"},
		{"no namespace", with("scope: Namespace"), "spec.parameters.namespace: Required"},
		{"namespace", with("scope: Namespace, namespace: ns"), ""},
	})
	runUpdate(t, head, []updateCase{{"controller", with(""), "spec: {controller: a.b/d}", "spec.controller: Invalid"}})
	runCells(t, head, []cellCase{
		{"none", "spec: {}", "Parameters", "<none>"},
		{"group", with("apiGroup: x.io"), "Parameters", "K.x.io/nn"},
		{"core", with(""), "Parameters", "K/nn"},
	})
}

func TestNetworkPolicy(t *testing.T) {
	head := "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: np}\n"
	port := func(text string) string { return "spec: {ingress: [{ports: [{" + text + "}]}]}" }
	peer := func(text string) string { return "spec: {egress: [{to: [{" + text + "}]}]}" }
	atPort, atPeer := "spec.ingress[0].ports[0]", "spec.egress[0].to[0]"
	runHooks(t, head, []hookCase{
		{"ingress", "spec: {}", "spec/policyTypes", `["Ingress"]`},
		{"both", "spec: {egress: [{}]}", "spec/policyTypes", `["Ingress","Egress"]`},
		{"given", "spec: {policyTypes: [Egress]}", "spec/policyTypes", `["Egress"]`},
		{"protocol", port("port: 80"), "spec/ingress/0/ports/0/protocol", `"TCP"`},
	})
	runCreate(t, head, []createCase{
		{"range", port("port: 80, endPort: 90"), ""},
		{"zero", port("port: 0"), atPort + ".port: Invalid"},
		{"name", port("port: http"), ""},
		{"long name", port("port: a-very-long-port-name"), atPort + ".port: Invalid"},
		{"backwards", port("port: 80, endPort: 79"), atPort + ".endPort: Invalid"},
		{"from a name", port("port: http, endPort: 79"), atPort + ".endPort: Invalid"},
		{"from nothing", port("endPort: 79"), atPort + ".endPort: Invalid"},
		{"too far", port("port: 80, endPort: 70000"), atPort + ".endPort: Invalid"},
		{"nobody", "spec: {egress: [{to: [{}]}]}", atPeer + ": Required"},
		{"pods anywhere", peer("podSelector: {}, namespaceSelector: {}"), ""},
		{"pods and addresses", peer("podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}"), atPeer + ": Forbidden"},
		{"hole", peer("ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}"), ""},
		{"no hole", peer("ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}"), atPeer + ".ipBlock.except[0]: Invalid"},
		{"hole elsewhere", peer("ipBlock: {cidr: 10.0.0.0/8, except: [11.1.0.0/16]}"), atPeer + ".ipBlock.except[0]: Invalid"},
		{"three types", "spec: {policyTypes: [Ingress, Egress, Ingress]}", "spec.policyTypes: Invalid"},
		{"unknown type", "spec: {policyTypes: [Sideways]}", "spec.policyTypes[0]: NotSupported"},
	})
	runCells(t, head, []cellCase{{"labels", "spec: {podSelector: {matchLabels: {a: b}}}", "Pod-Selector", "a=b"}})
}

func TestEndpointSlice(t *testing.T) {
	head := "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: e}\n"
	at := func(kind, endpoint string) string {
		return "addressType: " + kind + "\nendpoints: [{" + endpoint + "}]"
	}
	address := "endpoints[0].addresses[0]: Invalid"
	runHooks(t, head, []hookCase{
		{"names", at("IPv4", "addresses: [1.2.3.4]") + "\nports: [{port: 1}]", "ports/0", `{"name":"","protocol":"TCP","port":1}`},
		{"topology", at("IPv4", "deprecatedTopology: {a: b, topology.kubernetes.io/zone: a, kubernetes.io/hostname: b}"), "endpoints/0/deprecatedTopology", ""},
	})
	runCreate(t, head, []createCase{
		{"empty", "addressType: IPv4\nendpoints: []", ""},
		{"no type", "endpoints: []", "addressType: Required"},
		{"right", at("IPv4", "addresses: [1.2.3.4]"), ""},
		{"six in four", at("IPv4", "addresses: ['2001:db8::1']"), address},
		{"four in six", at("IPv6", "addresses: [1.2.3.4]"), address},
		{"loopback", at("IPv4", "addresses: [127.0.0.1]"), address},
		{"host", at("FQDN", "addresses: [a.example.com]"), ""},
		{"short host", at("FQDN", "addresses: [a]"), address},
		{"no address", at("IPv4", "addresses: []"), "endpoints[0].addresses: Required"},
		{"zones", at("IPv4", "addresses: [1.2.3.4], hints: {forZones: [{name: a}, {name: a}]}"), "endpoints[0].hints.forZones[1].name: Duplicate"},
		{"ports", "addressType: IPv4\nports: [{name: a, port: 1}, {name: a, port: 2}, {name: A}]", "ports[1].name: Duplicate; ports[2].name: Invalid"},
	})
	runUpdate(t, head, []updateCase{{"type", "addressType: IPv4", "addressType: IPv6", "addressType: Invalid"}})
	runCells(t, head, []cellCase{
		{"none", "addressType: IPv4", "Ports", "<unset>"},
		{"ports", "addressType: IPv4\nports: [{port: 1}, {name: a}, {port: 3}, {port: 4}]", "Ports", "1,a,3 + 1 more..."},
		{"addresses", at("IPv4", "addresses: [1.2.3.4, 1.2.3.5]"), "Endpoints", "1.2.3.4,1.2.3.5"},
	})
}
