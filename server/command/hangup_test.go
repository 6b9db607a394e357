package command

import (
	"bufio"
	"bytes"
	"fmt"
	"github.com/capstan-dev/capstan/internal/etcdtest"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// TestMain is the tests, or the beginning of a server for one of them: it waits for a line
// before the first one of Main.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(etcdtest.Run(m))
	}
	fmt.Println("initialized")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	Main("capstan", server.Config{})
}

// begin starts the program, which waits before the first line of Main, and sends it
// hangups. The returned function lets it go on.
func begin(t *testing.T, args ...string) (cmd *exec.Cmd, stdout *bufio.Scanner, stderr *bytes.Buffer, goOn func()) {
	t.Helper()
	cmd, stderr = exec.Command(os.Args[0], args...), &bytes.Buffer{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if stdout = bufio.NewScanner(out); !stdout.Scan() || stdout.Text() != "initialized" {
		t.Fatalf("%q, %s", stdout.Text(), stderr)
	}
	for range 3 {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	return cmd, stdout, stderr, func() { _, _ = io.WriteString(stdin, "\n") }
}

// TestHangupAtTheBeginning: a hangup that comes before the first line of Main ends no
// server.
func TestHangupAtTheBeginning(t *testing.T) {
	cmd, stdout, stderr, goOn := begin(t, "serve", "--in-memory", "--secure-port=0", "--controllers=-*", "--write-kubeconfig="+t.TempDir()+"/kubeconfig")
	goOn()
	if !stdout.Scan() || !strings.HasPrefix(stdout.Text(), "capstan listens on ") {
		t.Fatalf("%q, %v, %s", stdout.Text(), cmd.Wait(), stderr)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for stdout.Scan() {
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "msg=stopped") {
		t.Errorf("%v, %s", err, stderr)
	}
}

// TestHangupEndsOtherCommands: only a server has something to do on a hangup.
func TestHangupEndsOtherCommands(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("hangups are ignored here, as below nohup, and so in a process of this one")
	}
	cmd, _, stderr, goOn := begin(t, "version")
	late := time.AfterFunc(10*time.Second, goOn) // it would go on without the signal's effect
	_ = cmd.Wait()
	late.Stop()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGHUP {
		t.Errorf("%v, %s", cmd.ProcessState, stderr)
	}
}
