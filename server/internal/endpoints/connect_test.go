package endpoints_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Mistakes in connections out of the server are answered from the objects.
func TestWaysToWhatRuns(t *testing.T) {
	h := harness.Start(t, nil)
	const services = "/api/v1/namespaces/default/services"
	pod := func(name, node string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"nodeName":"` + node + `","initContainers":[{"name":"i","image":"i"}],"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}]}}`
	}
	h.Run(t, []harness.Step{
		{"one", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"waiting", "POST", harness.PodsPath, "", pod("two", ""), 201, ""},
		{"lost", "POST", harness.PodsPath, "", pod("lost", "gone"), 201, ""},
		{"node", "POST", "/api/v1/nodes", "", `{"metadata":{"name":"n"}}`, 201, ""},
		{"placed", "POST", harness.PodsPath, "", pod("three", "n"), 201, ""},

		{"no pod", "GET", harness.PodsPath + "/x/log", "", "", 404, `pods \"x\" not found`},
		{"log of the only container", "GET", harness.PodsPath + "/p/log", "", "", 204, ""},
		{"log of some container", "GET", harness.PodsPath + "/two/log", "", "", 400, "choose one of: [c d] or one of the init containers: [i]"},
		{"log of an unknown one", "GET", harness.PodsPath + "/two/log?container=x", "", "", 400, "container x is not valid for pod two"},
		{"log of the first", "GET", harness.PodsPath + "/two/log?container=i", "", "", 204, ""},
		{"log of a lost node", "GET", harness.PodsPath + "/lost/log?container=c", "", "", 404, `pods \"gone\" not found`},
		{"log of a node", "GET", harness.PodsPath + "/three/log?container=c", "", "", 503, "node n has reported no address by which it is reached"},
		{"wrong options", "GET", harness.PodsPath + "/p/log?tailLines=-1&limitBytes=0&sinceSeconds=0&sinceTime=2020-01-01T00:00:00Z", "", "", 422, `PodLogOptions \"p\" is invalid: [limitBytes`},
		{"no time", "GET", harness.PodsPath + "/none/log?sinceTime=x", "", "", 400, "sinceTime"},
		{"no number", "GET", harness.PodsPath + "/p/log?tailLines=x", "", "", 400, "tailLines"},
		{"log by POST", "POST", harness.PodsPath + "/p/log", "", "", 405, "MethodNotAllowed"},

		{"no pod to enter", "POST", harness.PodsPath + "/x/exec?command=ls", "", "", 404, "NotFound"},
		{"exec", "POST", harness.PodsPath + "/p/exec?command=ls", "", "", 400, "pod p does not have a host assigned"},
		{"attach", "GET", harness.PodsPath + "/two/attach?container=d", "", "", 400, "pod two does not have a host assigned"},
		{"exec on a node", "GET", harness.PodsPath + "/three/exec?container=c", "", "", 503, "ServiceUnavailable"},
		{"ports", "POST", harness.PodsPath + "/two/portforward", "", "", 400, "pod two does not have a host assigned"},
		{"no deletion of a command", "DELETE", harness.PodsPath + "/p/exec", "", "", 405, "MethodNotAllowed"},

		{"pod without address", "GET", harness.PodsPath + "/p:80/proxy/a//b", "", "", 400, "address not allowed"},
		{"address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, `{"status":{"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}`, 200, ""},
		{"local address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, `{"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}]}}`, 200, ""},
		{"pod of this machine", "PUT", harness.PodsPath + "/http:p:80/proxy/a", "", "", 400, "address not allowed"},
		{"no such scheme", "GET", harness.PodsPath + "/ftp:p:80/proxy", "", "", 400, "invalid pod request"},
		{"node's proxy", "GET", "/api/v1/nodes/n:10250/proxy/", "", "", 503, "no address"},
		{"no node", "DELETE", "/api/v1/nodes/x/proxy/y", "", "", 404, "NotFound"},

		{"service", "POST", services, "", `{"metadata":{"name":"s"},"spec":{"ports":[{"name":"web","port":80}]}}`, 201, ""},
		{"no endpoints object", "GET", services + "/s/proxy", "", "", 404, `services \"s\" not found`},
		{"endpoints", "POST", "/api/v1/namespaces/default/endpoints", "", `{"metadata":{"name":"s"}}`, 201, ""},
		{"no endpoints", "GET", services + "/https:s:web/proxy/x", "", "", 503, `no endpoints available for service \"https:s:web\"`},
		{"no port", "GET", services + "/s:81/proxy/x", "", "", 503, `no service port 81 found for service \"s\"`},
		{"some", "PATCH", "/api/v1/namespaces/default/endpoints/s", harness.MergePatchMedia, `{"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"web","port":8080}]}]}`, 200, ""},
		{"an endpoint that is not a pod", "POST", services + "/s:80/proxy/x", "", "", 503, `no endpoints available for service \"s:80\"`},
		{"no service", "GET", services + "/x/proxy", "", "", 404, "NotFound"},
	})
}
