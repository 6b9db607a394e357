package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bootTime bounds a boot of systemd with all steps of the life of a package.
const bootTime = 3 * time.Minute

// machineAddress is an address of the booted system that other machines would reach.
const machineAddress = "192.0.2.7"

// life are the steps of a package's life under systemd. Each step fails the script when it goes wrong.
const life = `#!/bin/sh -ex
exec > /life.log 2>&1
trap 'code=$?; systemctl status --no-pager --full capstan || true; journalctl --no-pager -u capstan || true; echo $code > /life.code' EXIT
active() { test "$(systemctl is-active capstan)" = "$1"; }
main() { systemctl show --property=MainPID --value capstan; }
ip address add ` + machineAddress + `/32 dev lo
dpkg -i /old.deb
active inactive
sed -i 's/^CAPSTAN_FLAGS=.*/CAPSTAN_FLAGS="--bind-address=0.0.0.0 --audit-log-path=\/var\/log\/capstan\/audit.log"/' /etc/default/capstan
systemctl enable --now capstan
systemctl reload capstan
active active
test -s /var/lib/capstan/admin.kubeconfig -a -e /var/log/capstan/audit.log
cp /var/lib/capstan/pki/server.crt /server.crt
capstan store backup --data-dir /var/lib/capstan --to /var/lib/capstan-backups/first
before=$(main)
dpkg -i /new.deb
active active
test "$before" != "$(main)"
capstan store migrate --data-dir /var/lib/capstan
systemctl stop capstan
dpkg -i /new.deb
active inactive
capstan store check --data-dir /var/lib/capstan
mv /var/lib/capstan/store /lost
runuser -u capstan -- capstan store restore --from /var/lib/capstan-backups/first --data-dir /var/lib/capstan
systemctl start capstan
test "$(systemctl show --property=NRestarts --value capstan)" = 0
dpkg -r capstan
active inactive
test -d /var/lib/capstan/store
dpkg -i /new.deb
systemctl enable --now capstan
dpkg -P capstan
active inactive
test -d /var/lib/capstan-backups/first
test ! -e /var/lib/capstan -a ! -e /etc/systemd/system/multi-user.target.wants/capstan.service
`

// lifeUnit runs the steps, and ends the system after them.
const lifeUnit = `[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/life.sh
ExecStopPost=/bin/systemctl --no-block poweroff
`

// TestSystemd: under systemd, with all the bounds of its unit, the server starts, reloads, is restarted by an upgrade
// that finds it running and by no other, and ends with the package.
func TestSystemd(t *testing.T) {
	boot, err := exec.LookPath("systemd-nspawn")
	if err != nil {
		t.Skip("there is no systemd-nspawn here: install systemd-container")
	}
	old, next := one(t, released(t, "v1.0.0"), "*.deb"), one(t, released(t, "v1.1.0-rc.1"), "*.deb")
	root := filepath.Join(t.TempDir(), "root")
	copyFile(t, minimal, root)
	copyFile(t, old, filepath.Join(root, "old.deb"))
	copyFile(t, next, filepath.Join(root, "new.deb"))
	units := filepath.Join(root, "etc/systemd/system")
	for path, text := range map[string]string{filepath.Join(root, "life.sh"): life, filepath.Join(units, "life.service"): lifeUnit} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(units, "graphical.target.wants"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../life.service", filepath.Join(units, "graphical.target.wants", "life.service")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, boot, "--directory="+root, "--machine=capstan-packages", "--boot", "--register=no", "--keep-unit", "--private-network", "--console=pipe")
	out, err := cmd.CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(root, "life.log"))
	code, _ := os.ReadFile(filepath.Join(root, "life.code"))
	if err != nil || strings.TrimSpace(string(code)) != "0" {
		t.Fatalf("%v, the steps end with %q\n%s\n%s", err, code, out, log)
	}
	text, err := os.ReadFile(filepath.Join(root, "server.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate: %s", text)
	}
	if c, err := x509.ParseCertificate(block.Bytes); err != nil || c.VerifyHostname(machineAddress) != nil {
		t.Errorf("the certificate is for %v, not for %s, error %v", c.IPAddresses, machineAddress, err)
	}
}

// copyFile copies a file, or a folder with all in it.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
