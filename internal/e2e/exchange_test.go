package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/capstan-dev/capstan/internal/balancer"
	"github.com/capstan-dev/capstan/internal/kmstest"
)

// exchange is a cluster on one etcd whose servers are exchanged while clients use it.
type exchange struct {
	t         *testing.T
	ctx       context.Context
	reference string // the folder of kube-apiserver
	dir, etcd string
	flags     []string // of both kinds of servers
	ready     string   // the path that a server answers when it is ready
	balancer  *balancer.Balancer
}

// phaseTime is the time for which clients use each set of servers.
const phaseTime = 8 * time.Second

// newExchange makes what both kinds of servers share: etcd, keys and tokens.
func newExchange(t *testing.T) *exchange {
	t.Helper()
	balanced, err := balancer.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = balanced.Close() })
	x := &exchange{t: t, reference: os.Getenv("CAPSTAN_REFERENCE"), balancer: balanced, ready: "/readyz"}
	if x.reference == "" {
		t.Skip("CAPSTAN_REFERENCE does not name the folder of a kube-apiserver; make exchange builds one")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	x.ctx = ctx
	own := startOnEtcd(t, 0)
	x.dir, x.etcd = own.dir, own.url
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keyFile, tokens, encryption := filepath.Join(x.dir, "sa.key"), filepath.Join(x.dir, "tokens.csv"), filepath.Join(x.dir, "encryption.yaml")
	for file, text := range map[string][]byte{
		keyFile: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		tokens:  []byte("admintoken,admin,uid-admin,system:masters\n"),
		encryption: []byte(`{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [{"resources": ["secrets", "services"],
			"providers": [{"kms": {"name": "test", "endpoint": "` + kmstest.Start(t).Endpoint + `"}}, {"identity": {}}]}]}`),
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x.flags = []string{"--etcd-servers", x.etcd, "--bind-address", "127.0.0.1", "--token-auth-file", tokens, "--service-account-key-file", keyFile,
		"--service-account-signing-key-file", keyFile, "--service-account-issuer", "https://kubernetes.default.svc", "--service-cluster-ip-range", "10.0.0.0/20",
		"--encryption-provider-config", encryption}
	return x
}

// url is where clients connect.
func (x *exchange) url() string { return "https://" + x.balancer.Address() }

// member is a server process behind the balancer.
type member struct {
	address string
	stop    func()
}

// startReference starts a kube-apiserver on a free port.
func (x *exchange) startReference(name string) member {
	x.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(filepath.Join(x.reference, "kube-apiserver"), append([]string{"--secure-port", port, "--cert-dir", filepath.Join(x.dir, name),
		"--authorization-mode", "RBAC", "--allow-privileged"}, x.flags...)...)
	log := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(startLimit):
			_ = cmd.Process.Kill()
			<-exited
		}
	})
	x.t.Cleanup(stop)
	x.awaitReady(address, exited, log)
	return member{address, stop}
}

// startCapstan starts one of this project's servers.
func (x *exchange) startCapstan(name string) member {
	x.t.Helper()
	one, err := start(filepath.Join(x.dir, name), x.flags...)
	if err != nil {
		x.t.Fatal(err)
	}
	x.awaitReady(strings.TrimPrefix(one.config(x.t).Host, "https://"), nil, &one.log)
	stop := sync.OnceFunc(func() {
		if err := one.stop(); err != nil {
			x.t.Errorf("capstan: %v\n%s", err, one.log.String())
		}
		if text := one.log.String(); strings.Contains(text, "panic") || strings.Contains(text, "level=ERROR") {
			x.t.Errorf("capstan: %s", text)
		}
	})
	x.t.Cleanup(stop)
	return member{strings.TrimPrefix(one.config(x.t).Host, "https://"), stop}
}

// awaitReady waits until a server says that it is ready.
func (x *exchange) awaitReady(address string, exited <-chan struct{}, log *lockedBuffer) {
	x.t.Helper()
	c := x.client("https://" + address)
	for {
		soon, cancel := context.WithTimeout(x.ctx, time.Second)
		err := c.RESTClient().Get().AbsPath(x.ready).Do(soon).Error()
		cancel()
		if err == nil {
			return
		}
		select {
		case <-exited:
			x.t.Fatalf("kube-apiserver has ended: %s", log.String())
		case <-x.ctx.Done():
			x.t.Fatalf("the server is not ready: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// config is that of clients of a URL. Each client has connections of its own.
func (x *exchange) config(url string) *rest.Config {
	return &rest.Config{Host: url, BearerToken: "admintoken", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		Dial: (&net.Dialer{Timeout: time.Second}).DialContext}
}

func (x *exchange) client(url string) *kubernetes.Clientset {
	x.t.Helper()
	c, err := kubernetes.NewForConfig(x.config(url))
	if err != nil {
		x.t.Fatal(err)
	}
	return c
}

// phase lets clients use a set of servers for a while.
func (x *exchange) phase(name string, u *crowd, servers ...member) {
	x.t.Helper()
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.address)
	}
	x.balancer.Use(addresses...)
	select {
	case <-time.After(phaseTime):
	case <-x.ctx.Done():
	}
	x.t.Logf("%s: %s", name, u)
}

// TestExchange: the kube-apiserver of a cluster is exchanged for a server of this project and back,
// under the load of writers, watches and informers, and with upstream's controllers where
// CAPSTAN_UPSTREAM names their folder. No acknowledged write is lost, no watch has a gap, no address
// is given twice, and no client waits for 3 s.
func TestExchange(t *testing.T) {
	x := newExchange(t)
	first := x.startReference("reference-1")
	x.balancer.Use(first.address)
	u := x.startCrowd()
	x.upstream()
	x.phase("kube-apiserver alone", u, first)
	own := x.startCapstan("capstan-1")
	x.phase("both", u, first, own)
	second := x.startCapstan("capstan-2")
	x.balancer.Use(own.address, second.address)
	first.stop()
	x.phase("capstan alone", u, own, second)
	x.balancer.Use(second.address)
	own.stop()
	x.phase("one capstan", u, second)
	again := x.startReference("reference-2")
	x.phase("both again", u, second, again)
	x.balancer.Use(again.address)
	second.stop()
	x.phase("kube-apiserver again", u, again)
	u.finish()
}

// upstream starts upstream's controller-manager and scheduler, and fake nodes, and has them roll a
// deployment out again and again until the test ends.
func (x *exchange) upstream() {
	x.t.Helper()
	folder := os.Getenv("CAPSTAN_UPSTREAM")
	if folder == "" {
		x.t.Log("CAPSTAN_UPSTREAM does not name a folder with kube-controller-manager, kube-scheduler, kwok and stages.yaml: they are left out")
		return
	}
	config := filepath.Join(x.dir, "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: admintoken}}], contexts: [{name: c, context: {cluster: c, user: u}}], current-context: c}`, x.url())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
	for program, flags := range map[string][]string{
		"kube-controller-manager": {"--kubeconfig", config, "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", "0", "--service-account-private-key-file", filepath.Join(x.dir, "sa.key")},
		"kube-scheduler":          {"--kubeconfig", config, "--leader-elect=false", "--bind-address", "127.0.0.1", "--secure-port", "0"},
		"kwok": {"--kubeconfig", config, "--config", filepath.Join(folder, "stages.yaml"), "--manage-all-nodes=true", "--node-lease-duration-seconds=40",
			"--node-ip", "127.0.0.1", "--server-address", "127.0.0.1:0"},
	} {
		cmd := exec.Command(filepath.Join(folder, program), flags...)
		log := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			x.t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		x.t.Cleanup(func() {
			select {
			case err := <-exited:
				x.t.Errorf("%s has ended: %v\n%s", program, err, log)
			default:
				_ = cmd.Process.Kill()
				<-exited
			}
		})
	}
	x.rollOut()
}

// nodeText is the manifest of a fake node.
func nodeText(name string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q,"kubernetes.io/os":"linux"}},
"status":{"allocatable":{"cpu":"32","memory":"256Gi","pods":"110"},"capacity":{"cpu":"32","memory":"256Gi","pods":"110"}}}`, name, name)
}

// rollOut makes nodes and a deployment, and changes its template whenever it is complete.
func (x *exchange) rollOut() {
	x.t.Helper()
	c := x.client(x.url())
	for _, name := range []string{"node-0", "node-1"} {
		if err := c.RESTClient().Post().AbsPath("/api/v1/nodes").Body(nodeText(name)).Do(x.ctx).Error(); err != nil {
			x.t.Fatal(err)
		}
	}
	deployments := c.AppsV1().Deployments("default")
	made, err := deployments.Create(x.ctx, deployment("rolled", 10), metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	rolling, stop := context.WithCancel(x.ctx)
	var roller sync.WaitGroup
	times, began, longest := 0, time.Now(), time.Duration(0)
	roller.Go(func() {
		for rolling.Err() == nil {
			now, err := deployments.Get(rolling, made.Name, metav1.GetOptions{})
			if err == nil && now.Status.ObservedGeneration == now.Generation && now.Status.UpdatedReplicas == 10 && now.Status.AvailableReplicas == 10 && now.Status.Replicas == 10 {
				patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"roll":"%d"}}}}}`, times)
				if _, err := deployments.Patch(rolling, made.Name, "application/strategic-merge-patch+json", patch, metav1.PatchOptions{}); err == nil {
					longest = max(longest, time.Since(began))
					times, began = times+1, time.Now()
				}
			}
			select {
			case <-rolling.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	x.t.Cleanup(func() {
		stop()
		roller.Wait()
		x.t.Logf("the deployment was rolled out %d times, %s was the longest", times, longest.Round(time.Millisecond))
		if times < 3 {
			x.t.Errorf("a deployment was rolled out %d times only", times)
		}
	})
}
