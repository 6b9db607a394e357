package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestKubectl runs the scripts of testdata/kubectl, each against a server of its
// own. Besides testscript's commands a script has:
//
//	kubectl ARG...              the real kubectl, pointed at the server
//	background NAME ARG...      kubectl in the background, output to NAME
//	until FILE TEXT             waits until the file holds the text
func TestKubectl(t *testing.T) {
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
	server, err := start(filepath.Join(env.WorkDir, ".data"))
	if err != nil {
		return err
	}
	env.Defer(func() {
		if err := server.stop(); err != nil {
			env.T().Log("capstan:", err, server.log.String())
		}
	})
	manifests, err := filepath.Abs(filepath.Join("testdata", "manifests"))
	if err != nil {
		return err
	}
	env.Setenv("KUBECONFIG", server.kubeconfig)
	env.Setenv("MANIFESTS", manifests)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("PATH", binaries.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
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

func background(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: background FILE ARG...")
	}
	out, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	cmd := exec.Command(binaries.kubectl, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ts.Getenv("KUBECONFIG"), "HOME="+ts.Getenv("HOME"))
	cmd.Stdout, cmd.Stderr = out, out
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
	})
}

// untilLimit is how long until waits.
const untilLimit = 20 * time.Second

func until(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: until FILE TEXT")
	}
	deadline := time.Now().Add(untilLimit)
	for {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(b), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not hold %q after %s:\n%s", args[0], args[1], untilLimit, fmt.Sprint(string(b), err))
		}
		time.Sleep(20 * time.Millisecond) // polling a file that another process writes
	}
}
