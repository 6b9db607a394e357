package site

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

// etcd is the processes of the members of an etcd, which end with their input.
type etcd []*member

type member struct {
	url  string
	cmd  *exec.Cmd
	said io.Reader
	stop io.Closer
}

// startEtcd runs the program of tools/etcd as each member of an etcd.
func startEtcd(program, dir string, members int) (e etcd, err error) {
	var names []string
	for i := range members {
		names = append(names, fmt.Sprint("m", i))
	}
	for _, name := range names {
		m, err := startMember(program, dir, name, names)
		if err != nil {
			e.close()
			return nil, err
		}
		e = append(e, m)
	}
	for _, m := range e { // which serves with most of the others
		url, err := bufio.NewReader(m.said).ReadString('\n')
		if err != nil {
			e.close()
			return nil, fmt.Errorf("%s does not say its URL: %w", program, err)
		}
		m.url = strings.TrimSpace(url)
	}
	return e, nil
}

// startMember starts a process. The sockets by which members talk are in dir.
func startMember(program, dir, name string, all []string) (*member, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a descriptor of its own
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	e := &member{cmd: exec.Command(program, "-dir", name, "-name", name, "-members", strings.Join(all, ","))}
	e.cmd.Dir = dir
	e.cmd.Stderr = log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stop, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	e.stop = stop
	if e.said, err = e.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return e, e.cmd.Start()
}

// urls are those of all members, with commas between.
func (e etcd) urls() string {
	var all []string
	for _, m := range e {
		all = append(all, m.url)
	}
	return strings.Join(all, ",")
}

func (e etcd) close() {
	for _, m := range e {
		_ = m.stop.Close()
	}
	for _, m := range e {
		_ = m.cmd.Wait() // it may have ended
	}
}
