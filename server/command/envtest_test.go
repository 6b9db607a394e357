package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvtestWritesPrograms(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "assets")
	for range 2 { // the second time they are there
		if code, stdout, stderr := command("envtest", dir); code != 0 || stderr != "" || stdout != "wrote kube-apiserver and etcd into "+dir+"\n" {
			t.Fatalf("code %d, %s, %s", code, stdout, stderr)
		}
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm()&0o100 == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	other := filepath.Join(dir, "etcd")
	if err := os.WriteFile(other, []byte("another"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("envtest", dir); code != 1 || stderr != "capstan: "+other+" is another program; remove it, or name another directory\n" {
		t.Errorf("code %d, %s", code, stderr)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "another" {
		t.Errorf("replaced: %s, %v", text, err)
	}
	later := filepath.Join(t.TempDir(), "later")
	if code, _, stderr := command("envtest", "--version", "1.33", later); code != 0 {
		t.Errorf("code %d, %s", code, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(later, "kube-apiserver")); err != nil || !strings.Contains(string(text), " --emulated-version 1.33 ") {
		t.Errorf("the program is %s, %v", text, err)
	}
	if code, _, stderr := command("envtest", "--version", "1.99", later); code != misuse || !strings.Contains(stderr, "write one from 1.25 to 1.36") {
		t.Errorf("code %d, %s", code, stderr)
	}
	if code, _, stderr := command("envtest"); code != misuse || !strings.HasPrefix(stderr, "capstan: 0 arguments: capstan envtest takes one, the directory\n") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
