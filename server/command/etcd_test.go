package command

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
	"github.com/capstan-dev/capstan/server/internal/move"
)

// TestWrongEtcd: a server that cannot work on its etcd says why in one line, and what to do, and ends.
func TestWrongEtcd(t *testing.T) {
	authority, other, loopback := etcdtest.NewAuthority(t), etcdtest.NewAuthority(t), net.IPv4(127, 0, 0, 1)
	secured := func(t *testing.T, addresses ...net.IP) string {
		cert, key := authority.Issue(t, "etcd", addresses...)
		return etcdtest.Start(t, "-cert", cert, "-key", key)
	}
	refused := " is not accepted: "
	for name, c := range map[string]struct {
		arguments func(t *testing.T) string
		want      string
	}{
		"old":        {func(t *testing.T) string { return etcdtest.Start(t, "-release", "3.4.35") }, `is of release "3.4.35"; 3.5 is the oldest one that works`},
		"nobody":     {func(*testing.T) string { return "http://127.0.0.1:1" }, "etcd: http://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused; compare its URL"},
		"silent":     {blackHole, "does not answer within 5s; look at its log, and compare its URL"},
		"plain text": {func(t *testing.T) string { return strings.Replace(etcdtest.Start(t), "http:", "https:", 1) }, "does not speak TLS; write http in its URL"},
		"TLS":        {func(t *testing.T) string { return strings.Replace(secured(t, loopback), "https:", "http:", 1) }, "does not answer"},
		"authority":  {func(t *testing.T) string { return secured(t, loopback) + " --etcd-cafile=" + other.File }, refused + "x509: certificate signed by unknown authority"},
		"name": {func(t *testing.T) string {
			return secured(t, net.IPv4(192, 0, 2, 1)) + " --etcd-cafile=" + authority.File
		}, refused + "x509: certificate is valid for 192.0.2.1, not 127.0.0.1"},
		"no client certificate": {func(t *testing.T) string {
			cert, key := authority.Issue(t, "etcd", loopback)
			return etcdtest.Start(t, "-cert", cert, "-key", key, "-ca", authority.File) + " --etcd-cafile=" + authority.File
		}, "does not accept this server: remote error: tls: certificate required; compare --etcd-certfile"},
		"reader": {func(t *testing.T) string { return onlyReads(t, authority) }, "this server may not write below /registry/: give the user of --etcd-certfile the right to read and write there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stderr := serveOnEtcd(t, onEtcd, c.arguments(t))
			if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "capstan: etcd: ") || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, %s\nwant %s", code, stderr, c.want)
			}
		})
	}
}

// TestFolderOfReplicaIsTaken: two servers with one data directory do not spoil each other's replica.
func TestFolderOfReplicaIsTaken(t *testing.T) {
	dir, url := t.TempDir(), etcdtest.Start(t)
	first, err := server.Start(t.Context(), server.Config{DataDir: dir, Etcd: server.Etcd{EtcdServers: []string{url}, OpenEtcd: etcdstore.Open}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Shutdown(context.Background()) }()
	code, stderr := serveOnEtcd(t, onEtcd, url+" --data-dir="+dir)
	if want := "the data directory is in use by another process: " + filepath.Join(dir, "store-replica") + "; stop that process or choose another directory\n"; code != 1 ||
		!strings.HasSuffix(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %s\nwant %s", code, stderr, want)
	}
}

// onEtcd is the program with the client of etcd.
var onEtcd = program{"capstan", server.Config{Etcd: server.Etcd{OpenEtcd: etcdstore.Open}}, &Etcd{Import: move.NewImport, Export: move.NewExport, Check: move.Check}, nil}

// TestStoreCheckEtcd: a check names the keys of values that cannot be read, and removes one that is named,
// and no other.
func TestStoreCheckEtcd(t *testing.T) {
	url := etcdtest.Start(t)
	c := etcdtest.Client(t, url)
	for place, value := range map[string]string{"/registry/configmaps/default/bad": "hello", "/registry/pods/default/bad": "k8s\x00half", "/registry/masterleases/a": "theirs",
		"/registry/configmaps/default/good": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"good","namespace":"default"}}`} {
		if _, err := c.Put(t.Context(), place, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		flags, stdout, stderr string
	}{
		{"", "/registry/configmaps/default/bad: ", "2 of 3 values cannot be read; give their keys"},
		{"--remove=/registry/configmaps/default/good", "", "the value of /registry/configmaps/default/good can be read: delete it through a server"},
		{"--remove=/registry/configmaps/default/none", "", "there is no object at [/registry/configmaps/default/none]"},
		{"--remove=/registry/masterleases/a", "", "there is no object at [/registry/masterleases/a]"},
		{"--remove=/registry/configmaps/default/bad", "/registry/configmaps/default/bad: removed", "1 of 2 values cannot be read"},
		{"--remove=/registry/pods/default/bad", "1 values can be read, 1 keys are not objects", ""},
		{"--data-dir=x", "", "[data-dir etcd] were all set"},
	} {
		var out, log bytes.Buffer
		code := onEtcd.run(context.Background(), strings.Fields("store check --etcd="+url+" "+step.flags), &out, &log, from(nil))
		if (code == 0) != (step.stderr == "") || !strings.Contains(out.String(), step.stdout) || !strings.Contains(log.String(), step.stderr) {
			t.Errorf("%s: %d, %s, %s", step.flags, code, &out, &log)
		}
	}
}

// TestWithoutEtcdClient: a program without etcd's client starts the other one for what needs it.
func TestWithoutEtcdClient(t *testing.T) {
	for _, line := range []string{"store check --etcd=http://127.0.0.1:1", "store import --from-etcd=http://127.0.0.1:1", "import --help", "store export --to-etcd=http://127.0.0.1:1"} {
		var out, log bytes.Buffer
		if code := capstan.run(context.Background(), strings.Fields(line), &out, &log, from(nil)); code != codeFor(strings.HasPrefix(line, "store check")) || !strings.Contains(log.String(), "capstan-etcd is not there") {
			t.Errorf("%s: %d, %s, %s", line, code, &out, &log)
		}
	}
}

// serveOnEtcd runs a server with the URL of a member and further flags, and returns its exit code and
// its log.
func serveOnEtcd(t *testing.T, p program, arguments string) (code int, stderr string) {
	var out, log bytes.Buffer
	code = p.run(context.Background(), strings.Fields("serve --secure-port=0 --data-dir="+filepath.Join(t.TempDir(), "data")+" --etcd-servers="+arguments), &out, &log, from(nil))
	return code, log.String()
}

// blackHole is the URL of somebody who accepts connections and says nothing.
func blackHole(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

// onlyReads starts an etcd whose user may read the objects, and returns the flags of the user.
func onlyReads(t *testing.T, authority *etcdtest.Authority) string {
	t.Helper()
	cert, key := authority.Issue(t, "etcd", net.IPv4(127, 0, 0, 1))
	url := etcdtest.Start(t, "-cert", cert, "-key", key, "-ca", authority.File)
	cert, key = authority.Issue(t, "root")
	security, err := etcd.Security(authority.File, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, TLS: security})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	grant := func(_ any, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	grant(c.RoleAdd(t.Context(), "reader"))
	grant(c.RoleGrantPermission(t.Context(), "reader", "/registry/", clientv3.GetPrefixRangeEnd("/registry/"), clientv3.PermissionType(clientv3.PermRead)))
	for user, role := range map[string]string{"root": "root", "reader": "reader"} {
		grant(c.UserAddWithOptions(t.Context(), user, "", &clientv3.UserAddOptions{NoPassword: true}))
		grant(c.UserGrantRole(t.Context(), user, role))
	}
	grant(c.AuthEnable(t.Context()))
	cert, key = authority.Issue(t, "reader")
	return url + " --etcd-cafile=" + authority.File + " --etcd-certfile=" + cert + " --etcd-keyfile=" + key
}
