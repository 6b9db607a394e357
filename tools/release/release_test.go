package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binaries is the folder of the binaries for Linux, and minimal that of the root of a minimal Debian. The target
// test-packages has both.
var binaries, minimal = os.Getenv("CAPSTAN_BINARIES"), os.Getenv("CAPSTAN_ROOT")

// tested is the platform of the packages that are installed.
var tested = platform{"linux", "amd64"}

// released makes the packages of a version, and returns their folder.
func released(t *testing.T, version string) string {
	t.Helper()
	if binaries == "" || minimal == "" {
		t.Skip("make test-packages runs this")
	}
	if dir := made[version]; dir != "" {
		return dir
	}
	made[version] = makeRelease(t, version)
	return made[version]
}

// made are the folders of the releases that several tests use.
var made = map[string]string{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range made {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func makeRelease(t *testing.T, version string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "capstan-packages-")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		name := program + "-" + tested.String()
		if out, err := exec.Command("cp", "--reflink=auto", filepath.Join(binaries, name), filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	args := []string{"-root", filepath.Join("..", ".."), "-dist", dir, "-version", version, "-commit", "0123456789", "-time", "2026-11-28T03:37:42Z"}
	if err := run(append(args, tested.system+"/"+tested.arch)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// one is the only file of a folder with a pattern.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s is %v, error %v", pattern, files, err)
	}
	return files[0]
}
