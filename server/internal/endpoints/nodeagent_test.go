package endpoints_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// upgrade sends a request that asks for another protocol, with a line in it, and returns
// the answer up to the end.
func upgrade(h *harness.Server, method, path, protocol, line string) string {
	h.T.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.Running.CA())
	address := strings.TrimPrefix(h.Running.URL(), "https://")
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool})
	if err != nil {
		h.T.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", method, path, address, harness.AdminToken, protocol)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	fmt.Fprintln(conn, line)
	text, err := io.ReadAll(in)
	if err != nil {
		h.T.Errorf("%s: %v", path, err)
	}
	return resp.Header.Get("Upgrade") + " " + string(text)
}

// switchAndEcho changes to the protocol that the client asks for, and answers a line.
func switchAndEcho(t *testing.T, w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	line, _ := buffered.ReadString('\n')
	fmt.Fprintf(conn, "%s %s %s", r.Method, r.URL, line)
}

func TestNodeAgent(t *testing.T) {
	written := make(chan string)
	agent := harness.StartAgent(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			switchAndEcho(t, w, r)
		case r.URL.Query().Get("follow") == "true":
			for line := range written {
				_, _ = io.WriteString(w, line)
				w.(http.Flusher).Flush()
			}
		case r.URL.Query().Get("tailLines") == "3":
			http.Error(w, "no such log", http.StatusBadRequest)
		case r.URL.Query().Get("tailLines") == "4":
			http.Error(w, "broken", http.StatusInternalServerError)
		case r.URL.Query().Get("tailLines") == "5":
			http.Redirect(w, r, "https://169.254.169.254/", http.StatusFound)
		case r.URL.Path == "/to/moved":
			http.Redirect(w, r, "/to/here", http.StatusFound)
		default:
			w.Header().Set("Content-Type", "application/x-log")
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
		}
	})
	h := harness.Start(t, func(c *server.Config) { agent.Trust(t, c) })
	agent.Place(h)
	const log = harness.PodsPath + "/p/log"
	h.Run(t, []harness.Step{
		{"log", "GET", log, "", "", 200, "GET /containerLogs/default/p/c "},
		{"with options", "GET", log + "?container=c&previous=true&timestamps=1&sinceSeconds=5&tailLines=2&limitBytes=9&pretty=true", "", "", 200,
			"GET /containerLogs/default/p/c?limitBytes=9&previous=true&sinceSeconds=5&tailLines=2&timestamps=true "},
		{"not verified", "GET", log + "?insecureSkipTLSVerifyBackend=true", "", "", 200, "GET /containerLogs/default/p/c "},
		{"wrong", "GET", log + "?tailLines=3", "", "", 400, "no such log"},
		{"failure", "GET", log + "?tailLines=4", "", "", 500, "broken"},
		{"redirect", "GET", log + "?tailLines=5", "", "", 502, "not permitted"},
		{"no upgrade", "POST", harness.PodsPath + "/p/exec?command=ls", "", "", 400, "Upgrade request required"},
		{"proxy of the node", "GET", "/api/v1/nodes/n/proxy/stats/summary?x=1", "", "", 200, "GET /stats/summary?x=1 "},
		{"with a port", "POST", "/api/v1/nodes/n:" + agent.Port + "/proxy/run/", "", "body", 200, "POST /run/ body"},
		{"without a slash", "GET", "/api/v1/nodes/n/proxy?a=b", "", "", 200, "GET /?a=b "},
		{"as another port", "GET", "/api/v1/nodes/https:n:1/proxy/", "", "", 503, "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"},
	})
	if got := h.Get(log); got.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("a log is %s", got.Header.Get("Content-Type"))
	}
	if got := h.Send("GET", "/api/v1/nodes/n/proxy/to/moved", "", nil); got.Code != 200 || !strings.HasPrefix(string(got.Body), "GET /to/here") {
		t.Errorf("moved: %d %s", got.Code, got.Body)
	}

	req, err := http.NewRequest("GET", h.Running.URL()+log+"?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	go func() { written <- "one\n" }()
	resp, err := h.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for _, next := range []string{"two\n", "three\n", ""} {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%q %v", line, err)
		}
		if next != "" {
			written <- next
		}
	}
	close(written)
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("at the end: %q %v", rest, err)
	}

	for _, c := range []struct{ method, path, protocol, want string }{
		{"POST", "/p/exec?command=sh&command=-c&stdin=true&stdout=true&tty=false", "SPDY/3.1", "SPDY/3.1 POST /exec/default/p/c?command=sh&command=-c&input=1&output=1 hello\n"},
		{"GET", "/p/exec?command=ls&container=c&stderr=1&tty=1", "websocket", "websocket GET /exec/default/p/c?command=ls&error=1&tty=1 hello\n"},
		{"POST", "/p/attach?stdout=true", "SPDY/3.1", "SPDY/3.1 POST /attach/default/p/c?output=1 hello\n"},
		{"POST", "/p/portforward?ports=80,81", "SPDY/3.1", "SPDY/3.1 POST /portForward/default/p?port=80%2C81 hello\n"},
	} {
		if got := upgrade(h, c.method, harness.PodsPath+c.path, c.protocol, "hello"); got != c.want {
			t.Errorf("%s: %q, want %q", c.path, got, c.want)
		}
	}
	if got := upgrade(h, "GET", "/api/v1/nodes/n/proxy/x", "websocket", "hello"); got != "websocket GET /x hello\n" {
		t.Errorf("proxy: %q", got)
	}
}

// TestProxies: pods and services are reached at their addresses.
func TestProxies(t *testing.T) {
	pod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Impersonate-User") != "" {
			t.Errorf("a pod got the credentials of a client: %v", r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	var err error
	if pod.Listener, err = net.Listen("tcp", ":0"); err != nil {
		t.Fatal(err)
	}
	pod.Start()
	t.Cleanup(pod.Close)
	_, port, _ := net.SplitHostPort(pod.Listener.Addr().String())
	agent := &harness.NodeAgent{Port: port}
	at := func(ip string) string { return `{"status":{"podIP":"` + ip + `","podIPs":[{"ip":"` + ip + `"}]}}` }

	h := harness.Start(t, nil)
	agent.Place(h)
	h.Run(t, []harness.Step{
		{"address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, at("127.0.0.1"), 200, ""},
		{"pod", "GET", harness.PodsPath + "/p/proxy/x", "", "", 400, "address not allowed"},
		{"metadata address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, at("fd00:ec2::254"), 200, ""},
		{"metadata", "GET", harness.PodsPath + "/p/proxy/latest", "", "", 400, "address not allowed"},
		{"node", "GET", "/api/v1/nodes/n:" + port + "/proxy/x", "", "", 400, "address not allowed"},
		{"log", "GET", harness.PodsPath + "/p/log", "", "", 503, "cannot be at a loopback"},
		{"name of the node", "PATCH", "/api/v1/nodes/n/status", harness.MergePatchMedia, `{"status":{"addresses":[{"type":"Hostname","address":"localhost"}]}}`, 200, ""},
		{"log by name", "GET", harness.PodsPath + "/p/log", "", "", 503, "cannot be at a loopback"},
	})

	h = harness.Start(t, func(c *server.Config) { c.ConnectToLocalAddresses = true })
	agent.Place(h)
	h.Run(t, []harness.Step{
		{"address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, at("127.0.0.1"), 200, ""},
		{"pod", "GET", harness.PodsPath + "/p/proxy/a%20b/?q=1", "", "", 200, "GET /a%20b/?q=1 "},
		{"its port", "PUT", harness.PodsPath + "/http:p:" + port + "/proxy/x", "", "body", 200, "PUT /x body"},
		{"patch", "PATCH", harness.PodsPath + "/p/proxy/x", "application/x-thing", "body", 200, "PATCH /x body"},
		{"delete", "DELETE", harness.PodsPath + "/p/proxy/x", "", "", 200, "DELETE /x "},
		{"another scheme", "GET", harness.PodsPath + "/https:p:" + port + "/proxy/x", "", "", 503, "error trying to reach service: tls: "},
	})
	if got := h.Send("GET", harness.PodsPath+"/p/proxy/x", "", nil, "Accept", "text/html"); got.Code != 200 {
		t.Errorf("a page: %d %s", got.Code, got.Body)
	}

	machine := pki.MachineAddresses()
	if len(machine) == 0 {
		t.Skip("endpoints may not have a loopback address, and the machine has no other")
	}
	const services, endpoints = "/api/v1/namespaces/default/services", "/api/v1/namespaces/default/endpoints"
	subset := func(ref string) string {
		return `{"subsets":[{"addresses":[{"ip":"` + machine[0] + `"` + ref + `}],"ports":[{"name":"web","port":` + port + `}]}]}`
	}
	h.Run(t, []harness.Step{
		{"address of the machine", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, at(machine[0]), 200, ""},
		{"service", "POST", services, "", `{"metadata":{"name":"s"},"spec":{"ports":[{"name":"web","port":80}]}}`, 201, ""},
		{"endpoints", "POST", endpoints, "", `{"metadata":{"name":"s"}}`, 201, ""},
		{"written by hand", "PATCH", endpoints + "/s", harness.MergePatchMedia, subset(""), 200, ""},
		{"an address of something else", "GET", services + "/s:web/proxy/x", "", "", 503, `no endpoints available for service \"s:web\"`},
		{"of another pod", "PATCH", endpoints + "/s", harness.MergePatchMedia, subset(`,"targetRef":{"kind":"Pod","namespace":"default","name":"q"}`), 200, ""},
		{"of a missing pod", "GET", services + "/s:web/proxy/x", "", "", 503, "no endpoints available"},
		{"of the pod", "PATCH", endpoints + "/s", harness.MergePatchMedia, subset(`,"targetRef":{"kind":"Pod","namespace":"default","name":"p"}`), 200, ""},
		{"service by number", "GET", services + "/s:80/proxy/x", "", "", 200, "GET /x "},
		{"service by name", "POST", services + "/http:s:web/proxy/x?a=b", "", "body", 200, "POST /x?a=b body"},
	})
}

// TestAgentSettings: the addresses of a node in the order of their types, the port of those
// that report none, and the time for a connection.
func TestAgentSettings(t *testing.T) {
	agent := harness.StartAgent(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, mute, _ := net.SplitHostPort(silent.Addr().String())
	h := harness.Start(t, func(c *server.Config) {
		agent.Trust(t, c)
		c.KubeletPreferredAddressTypes, c.KubeletTimeout = []string{"ExternalIP", "InternalIP"}, 200*time.Millisecond
		if c.KubeletPort, err = strconv.Atoi(agent.Port); err != nil {
			t.Fatal(err)
		}
	})
	const at = "/api/v1/nodes/n"
	h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	h.Create(harness.PodsPath, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	addresses := func(list string) string { return `{"status":{"addresses":[` + list + `]}}` }
	const hostname, internal = `{"type":"Hostname","address":"nowhere.invalid"}`, `{"type":"InternalIP","address":"127.0.0.1"}`
	h.Run(t, []harness.Step{
		{"no address", "GET", harness.PodsPath + "/p/log", "", "", 503, "node n has reported no address"},
		{"of another type", "PATCH", at + "/status", harness.MergePatchMedia, addresses(hostname), 200, ""},
		{"still none", "GET", harness.PodsPath + "/p/log", "", "", 503, "node n has reported no address"},
		{"two", "PATCH", at + "/status", harness.MergePatchMedia, addresses(hostname + "," + internal), 200, ""},
		{"the preferred one", "GET", harness.PodsPath + "/p/log", "", "", 200, "/containerLogs/default/p/c"},
		{"a better one", "PATCH", at + "/status", harness.MergePatchMedia, addresses(internal + `,{"type":"ExternalIP","address":"127.0.0.2"}`), 200, ""},
		{"the better one", "GET", harness.PodsPath + "/p/log", "", "", 500, "127.0.0.2:" + agent.Port},
		{"a silent agent", "PATCH", at + "/status", harness.MergePatchMedia, `{"status":{"addresses":[` + internal + `],"daemonEndpoints":{"kubeletEndpoint":{"Port":` + mute + `}}}}`, 200, ""},
		{"its log", "GET", harness.PodsPath + "/p/log", "", "", 500, "error dialing backend: net/http: TLS handshake timeout"},
	})
	if got := upgrade(h, "POST", harness.PodsPath+"/p/exec?command=ls", "SPDY/3.1", "hello"); !strings.HasPrefix(got, "500 ") || !strings.Contains(got, "TLS handshake timeout") {
		t.Errorf("%s", got)
	}
}
