// Package member runs the program of tools/etcd, a member of an etcd, as a process.
package member

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Member is a process. It ends with its input, and so with the process that started it.
type Member struct {
	URL  string // known after Await
	cmd  *exec.Cmd
	said *bufio.Reader
	stop io.Closer
}

// Start starts a program in a working directory, with its log in a place. Await waits until it serves.
func Start(program, dir string, log io.Writer, arguments ...string) (*Member, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	m := &Member{cmd: exec.Command(program, arguments...)}
	m.cmd.Dir, m.cmd.Stderr = dir, log
	if m.stop, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.said = bufio.NewReader(said)
	return m, m.cmd.Start()
}

// Names are the arguments of the members of one etcd, each of which has a data directory below the working
// directory, where their sockets are.
func Names(size int) (all [][]string) {
	var names []string
	for i := range size {
		names = append(names, fmt.Sprint("m", i))
	}
	for _, name := range names {
		all = append(all, []string{"-dir", name, "-name", name, "-members", strings.Join(names, ",")})
	}
	return all
}

// Await waits until the member serves, with most of the others of its etcd.
func (m *Member) Await() error {
	url, err := m.said.ReadString('\n')
	if err != nil {
		return fmt.Errorf("etcd does not start: %w", err)
	}
	m.URL = strings.TrimSpace(url)
	return nil
}

// PID is the number of the process.
func (m *Member) PID() int { return m.cmd.Process.Pid }

// Signal sends a signal to the process.
func (m *Member) Signal(signal os.Signal) error { return m.cmd.Process.Signal(signal) }

// Pause has the member hang until Resume: its connections stay open, and it answers nothing.
func (m *Member) Pause() error { return m.Signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (m *Member) Resume() error { return m.Signal(syscall.SIGCONT) }

// Stop ends the process, which may have ended or hang.
func (m *Member) Stop() {
	_ = m.Resume()
	_ = m.stop.Close()
	_ = m.cmd.Wait()
}
