package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemctl records its arguments in place of those of the program.
const systemctl = "#!/bin/sh\necho \"$@\" >> /systemctl.log\n"

// TestDebianPackage: the package is installed in a minimal Debian, the command of its unit runs, an upgrade and a
// removal keep objects and settings, and a purge deletes them.
func TestDebianPackage(t *testing.T) {
	old, next := one(t, released(t, "v1.0.0"), "*.deb"), one(t, released(t, "v1.1.0-rc.1"), "*.deb")
	root := copyOfRoot(t)
	if out := inRoot(t, root, old, "dpkg -i /package.deb"); !strings.Contains(out, "systemctl enable --now capstan") {
		t.Errorf("the installation does not say how to start:\n%s", out)
	}
	inRoot(t, root, "", `test "$(stat -c %U:%G:%a /etc/capstan)" = root:capstan:750; zcat /usr/share/man/man1/capstan-serve.1.gz | grep -q data-dir
		bash -n /usr/share/bash-completion/completions/capstan
		grep -q "Apache License" /usr/share/doc/capstan/NOTICES; capstan version`)
	inRoot(t, root, "", `sed -i 's/^CAPSTAN_FLAGS=.*/CAPSTAN_FLAGS="--secure-port=0"/' /etc/default/capstan`)

	u := readUnit(t, root)
	inRoot(t, root, "", "cd /var/lib; install -d -m 0700 -o capstan -g capstan "+strings.Join(u.states, " ")) // as systemd does
	s := startIn(t, root, "", u.user, u.command...)
	ask(t, root, createKept)
	s.stop(t)

	called := calls(t, root)
	inRoot(t, root, next, "dpkg -i /package.deb")
	if got := strings.TrimPrefix(calls(t, root), called); !strings.Contains(got, "try-restart capstan.service") || strings.Contains(got, "disable") {
		t.Errorf("the upgrade calls systemctl with\n%s", got)
	}
	if got := inRoot(t, root, "", "dpkg-query -W -f '${Version}' capstan"); got != "1.1.0~rc.1" {
		t.Errorf("the version after the upgrade is %s", got)
	}
	u = readUnit(t, root)
	if !strings.Contains(strings.Join(u.command, " "), "--secure-port=0") {
		t.Errorf("the upgrade has lost the flags: %q", u.command)
	}
	s = startIn(t, root, "", u.user, u.command...)
	ask(t, root, getKept)
	s.stop(t)

	called = calls(t, root)
	if out := inRoot(t, root, "", "dpkg -r capstan"); !strings.Contains(out, "/var/lib/capstan stay") {
		t.Errorf("the removal does not say that objects stay:\n%s", out)
	}
	if got := strings.TrimPrefix(calls(t, root), called); !strings.Contains(got, "disable --now capstan.service") {
		t.Errorf("the removal calls systemctl with\n%s", got)
	}
	inRoot(t, root, "", "test ! -e /usr/bin/capstan; test -e /var/lib/capstan/admin.kubeconfig; test -e /etc/default/capstan")
	out := inRoot(t, root, "", "dpkg -P capstan; test ! -e /var/lib/capstan; test ! -e /etc/default/capstan; test ! -e /etc/capstan; ! getent passwd capstan")
	if !strings.Contains(out, "deleting /var/lib/capstan") || !strings.Contains(out, "deleting the user capstan") {
		t.Errorf("the purge does not say what it deletes:\n%s", out)
	}
}

// copyOfRoot is a root of which systemd seems to be the first process.
func copyOfRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	copyFile(t, minimal, root)
	if err := os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "usr/bin/systemctl"), []byte(systemctl), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// inRoot runs a script in a root, with a package at /package.deb, and returns its output.
func inRoot(t *testing.T, root, pkg, script string) string {
	t.Helper()
	if pkg != "" {
		content, err := os.ReadFile(pkg)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "package.deb"), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "chroot", root, "sh", "-ec", script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// calls are the arguments with which the scripts of the package have called systemctl.
func calls(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "systemctl.log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUnit: systemd understands the unit.
func TestUnit(t *testing.T) {
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "systemd", "capstan.service"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "capstan.service")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "/usr/bin/capstan", "/bin/true", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "verify", "--man=no", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program, "security", "--offline=true", "--threshold=20", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
