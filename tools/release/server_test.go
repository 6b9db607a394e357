package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/client"
	typed "github.com/capstan-dev/capstan/gen/client"
	corev1 "github.com/capstan-dev/capstan/gen/core/v1"
	metav1 "github.com/capstan-dev/capstan/gen/meta/v1"
)

// server is a server in a root of its own.
type server struct {
	cmd *exec.Cmd
	log bytes.Buffer
}

// startIn runs a command as a user of a root, and waits for its message of readiness as systemd does. The mounts of
// the script are those of the command only.
func startIn(t *testing.T, root, mounts, user string, command ...string) *server {
	t.Helper()
	socket := filepath.Join(root, "var/lib/capstan/notify")
	notified, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(socket)
	defer notified.Close()
	if err := os.Chmod(socket, 0o777); err != nil {
		t.Fatal(err)
	}
	script := mounts + `root=$0 user=$1; shift; exec chroot --userspec "$user" "$root" "$@"`
	s := &server{cmd: exec.Command("unshare", append([]string{"--mount", "sh", "-ec", script, root, user}, command...)...)}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "NOTIFY_SOCKET=/var/lib/capstan/notify"}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	if err := notified.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for message := make([]byte, 4096); ; {
		n, err := notified.Read(message)
		if err != nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
			t.Fatalf("the server does not become ready: %v\n%s", err, s.log.String())
		}
		if strings.Contains(string(message[:n]), "READY=1") {
			return s
		}
	}
}

// stop ends the server as systemd does.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("the server ends badly: %v\n%s", err, s.log.String())
	}
}

// ask sends requests to the server with data in a root.
func ask(t *testing.T, root string, do func(context.Context, *typed.Client) error) {
	t.Helper()
	config, _, err := client.LoadKubeconfig(filepath.Join(root, "var/lib/capstan/admin.kubeconfig"), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := typed.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := do(ctx, c); err != nil {
		t.Fatal(err)
	}
}

func createKept(ctx context.Context, c *typed.Client) error {
	kept := &corev1.ConfigMap{Metadata: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"a": "b"}}
	_, err := c.CoreV1().ConfigMaps("default").Create(ctx, kept, client.WriteOptions{})
	return err
}

func getKept(ctx context.Context, c *typed.Client) error {
	_, err := c.CoreV1().ConfigMaps("default").Get(ctx, "kept", client.GetOptions{})
	return err
}

// unit has the settings of a unit of systemd that a start needs.
type unit struct {
	user    string
	states  []string // folders below /var/lib
	command []string
}

var setting = regexp.MustCompile(`(?m)^(\w+)=(.*)$`)

// readUnit reads the installed unit, with the flags of its file of the environment.
func readUnit(t *testing.T, root string) unit {
	t.Helper()
	values := map[string]string{}
	for _, file := range []string{"usr/lib/systemd/system/capstan.service", "etc/default/capstan"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
			values[m[1]] = strings.Trim(m[2], `"`)
		}
	}
	if values["Type"] != "notify" || values["EnvironmentFile"] != "-/etc/default/capstan" {
		t.Fatalf("the unit has the type %q and the file %q", values["Type"], values["EnvironmentFile"])
	}
	command := strings.Replace(values["ExecStart"], "$CAPSTAN_FLAGS", values["CAPSTAN_FLAGS"], 1)
	return unit{user: values["User"] + ":" + values["Group"], states: strings.Fields(values["StateDirectory"]), command: strings.Fields(command)}
}
