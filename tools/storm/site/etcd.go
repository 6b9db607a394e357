package site

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// etcd is the process of an etcd, which ends with its input.
type etcd struct {
	url  string
	cmd  *exec.Cmd
	stop io.Closer
}

// startEtcd runs the program of tools/etcd.
func startEtcd(program, dir string) (*etcd, error) {
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a descriptor of its own
	e := &etcd{cmd: exec.Command(program, "-dir", dir)}
	e.cmd.Stderr = log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stop, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	e.stop = stop
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		e.close()
		return nil, fmt.Errorf("%s does not say its URL: %w", program, err)
	}
	e.url = strings.TrimSpace(url)
	return e, nil
}

func (e *etcd) close() {
	_ = e.stop.Close()
	_ = e.cmd.Wait() // it may have ended
}
