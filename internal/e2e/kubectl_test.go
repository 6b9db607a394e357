package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestKubectl runs the scripts of testdata/kubectl, each against a server of its
// own. Besides testscript's commands a script has:
//
//	kubectl ARG...              the real kubectl, pointed at the server
//	background FILE ARG...      kubectl in the background, all output to FILE
//	until FILE REGEXP           waits until the file matches
//
// A script that counts objects has a file server.flags with arguments of the
// server that turn its controllers off.
func TestKubectl(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "kubectl"),
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kubectl":    kubectl,
			"background": background,
			"until":      until,
		},
	})
}

func setup(env *testscript.Env) error {
	flags, err := os.ReadFile(filepath.Join(env.WorkDir, "server.flags"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	server, err := start(filepath.Join(env.WorkDir, ".data"), strings.Fields(string(flags))...)
	if err != nil {
		return err
	}
	env.Defer(func() {
		if err := server.stop(); err != nil {
			env.T().Fatal("capstan: ", err, "\n", server.log.String())
		}
	})
	manifests, err := filepath.Abs(filepath.Join("testdata", "manifests"))
	if err != nil {
		return err
	}
	env.Setenv("KUBECONFIG", server.kubeconfig)
	env.Setenv("MANIFESTS", manifests)
	env.Setenv("HOME", env.WorkDir)
	return nil
}

func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(binaries.kubectl, args...)
	if err != nil && !neg {
		ts.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	if err == nil && neg {
		ts.Fatalf("kubectl %s succeeded, it should not have", strings.Join(args, " "))
	}
}

// background appends "exit status N" to the file when kubectl ends by itself, so
// that a script can wait for it.
func background(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: background FILE ARG...")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	cmd := exec.Command(binaries.kubectl, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "HOME="+ts.Getenv("HOME"))
	cmd.Stdout, cmd.Stderr = out, out
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		fmt.Fprintf(out, "exit status %d\n", cmd.ProcessState.ExitCode())
		_ = out.Close()
		close(ended)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
}

func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE REGEXP")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	deadline := time.Now().Add(startLimit)
	for {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		ts.Check(err)
		if re.Match(b) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not match %q after %s:\n%s", args[0], args[1], startLimit, b)
		}
		time.Sleep(20 * time.Millisecond) // polling a file that another process writes
	}
}
