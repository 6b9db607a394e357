package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The addresses within the namespace of a cluster.
const (
	advertised = "192.168.99.1" // kube-apiserver refuses to have an address of loopback
	address    = "https://127.0.0.1:16443"
	etcdURL    = "http://127.0.0.1:2379"
	token      = "cluster-administrator"
)

// cluster is a cluster that runs.
type cluster struct {
	*settings
	dir     string
	client  *client
	servers []*exec.Cmd // the API server, after its etcd if there is one
	others  []*exec.Cmd
}

// start starts the server and everything around it. The cluster is to be stopped also after an error.
func (s *settings) start(ctx context.Context) (*cluster, error) {
	c := &cluster{settings: s, dir: filepath.Join(s.out, s.inside), client: newClient()}
	if err := c.write(); err != nil {
		return c, err
	}
	if err := c.startServer(ctx); err != nil {
		return c, err
	}
	if err := c.client.ready(ctx); err != nil {
		return c, err
	}
	return c, c.startUpstream(ctx)
}

// write writes the files that the processes read.
func (c *cluster) write() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"sa.pub":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
		"audit.json": []byte(auditPolicy),
		"tokens.csv": []byte(token + ",admin,uid-admin,system:masters\n"),
		"scheduler":  []byte(lightScheduler),
		"kubeconfig": fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"users":[{"name":"u","user":{"token":%q}}]}`, address, token),
	} {
		if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// command starts a process in the folder of the cluster, with a log of its own.
func (c *cluster) command(ctx context.Context, into *[]*exec.Cmd, program string, args ...string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(c.dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own handle
	p := exec.CommandContext(ctx, program, args...)
	p.Dir, p.Stdout, p.Stderr = c.dir, log, log
	if err := p.Start(); err != nil {
		return err
	}
	*into = append(*into, p)
	return nil
}

// startServer starts the API server of the kind, with its etcd.
func (c *cluster) startServer(ctx context.Context) error {
	common := []string{"--bind-address", "127.0.0.1", "--secure-port", "16443", "--token-auth-file", "tokens.csv", "--advertise-address", advertised,
		"--service-cluster-ip-range", "10.96.0.0/16", "--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", "sa.pub",
		"--service-account-signing-key-file", "sa.key", "--authorization-mode", "RBAC", "--max-requests-inflight", "1000", "--max-mutating-requests-inflight", "500"}
	if c.inside != "capstan" {
		if err := c.command(ctx, &c.servers, filepath.Join(c.reference, "etcd"), "--data-dir", "etcd",
			"--log-level", "error", "--quota-backend-bytes", "8589934592"); err != nil {
			return err
		}
	}
	if c.inside == "reference" {
		return c.command(ctx, &c.servers, filepath.Join(c.reference, "kube-apiserver"),
			append(common, "--etcd-servers", etcdURL, "--cert-dir", "certs", "--allow-privileged=true")...)
	}
	args := append(append([]string{"serve", "--data-dir", "data"}, common...), strings.Fields(c.flags)...)
	if c.inside == "capstan-etcd" {
		args = append(args, "--etcd-servers", etcdURL)
	}
	if c.profiled() {
		args = append(args, "--audit-policy-file", "audit.json", "--audit-log-path", "audit.log", "--audit-log-mode", "batch")
	}
	if c.release != "" {
		args = append(args, "--emulated-version", c.release)
	}
	return c.command(ctx, &c.servers, c.server, args...)
}

// ownControllers are those that capstan runs itself, so that the controller manager does not.
const ownControllers = ",-namespace,-garbagecollector,-serviceaccount,-root-ca-cert-publisher,-clusterrole-aggregation,-pvc-protection,-pv-protection"

// lightScheduler has the scheduler look at no more than 100 nodes for a pod, and count no pods of others there.
const lightScheduler = `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","clientConnection":{"kubeconfig":"kubeconfig","qps":2000,"burst":4000},
"leaderElection":{"leaderElect":false},"percentageOfNodesToScore":1,"profiles":[{"schedulerName":"default-scheduler",
"pluginConfig":[{"name":"PodTopologySpread","args":{"defaultingType":"List"}}]}]}`

// startUpstream starts the controllers, the scheduler and the fake nodes' agent.
func (c *cluster) startUpstream(ctx context.Context) error {
	own := ownControllers
	if c.inside == "reference" {
		own = ""
	}
	at := func(name string) string { return filepath.Join(c.upstream, name) }
	stages, err := filepath.Abs(at("stages.yaml"))
	if err != nil {
		return err
	}
	open := []string{"--kubeconfig", "kubeconfig", "--bind-address", "127.0.0.1", "--kube-api-qps", "2000", "--kube-api-burst", "4000", "--leader-elect=false",
		"--authorization-always-allow-paths", "/healthz,/metrics"}
	if err := c.command(ctx, &c.others, at("kube-controller-manager"), append(open, "--service-account-private-key-file", "sa.key",
		"--node-monitor-grace-period", "10m", // KWOK may be late on a small machine, and makes no pod ready again
		"--concurrent-deployment-syncs", "20", "--concurrent-replicaset-syncs", "20", "--controllers", "*"+own)...); err != nil {
		return err
	}
	if c.light {
		open = append(open, "--config", "scheduler")
	}
	if err := c.command(ctx, &c.others, at("kube-scheduler"), open...); err != nil {
		return err
	}
	return c.command(ctx, &c.others, at("kwok"), "--kubeconfig", "kubeconfig", "--config", stages, "--manage-all-nodes=true",
		"--node-lease-duration-seconds=40", "--node-ip", "127.0.0.1", "--server-address", "127.0.0.1:0")
}

// stop ends all processes; the server is the last one.
func (c *cluster) stop() {
	for _, p := range append(c.others, c.servers...) {
		_ = p.Process.Kill()
		_ = p.Wait() // was killed
	}
}

// cpu is the time of the CPU that the server's processes have used, and the part of it that etcd has used.
func (c *cluster) cpu() (all, etcd time.Duration) {
	etcd = cpuOf(c.servers[:len(c.servers)-1])
	return etcd + cpuOf(c.servers[len(c.servers)-1:]), etcd
}

func cpuOf(processes []*exec.Cmd) time.Duration {
	var ticks int64
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, field := range fields[11:13] { // utime and stime of proc(5), 14 and 15 there
			n, _ := strconv.ParseInt(field, 10, 64) // digits
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// peak is the largest resident memory that the server's processes have had, in bytes.
func (c *cluster) peak() int64 {
	var sum int64
	for _, p := range c.servers {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(text), "\n") {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64) // digits
				sum += kib << 10
			}
		}
	}
	return sum
}
