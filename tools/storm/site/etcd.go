package site

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/internal/etcdtest/member"
)

// etcd is the members of an etcd.
type etcd []*member.Member

// startEtcd runs the program of tools/etcd as each member of an etcd. Their data and logs are in dir.
func startEtcd(program, dir string, members int) (e etcd, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for _, arguments := range member.Names(members) {
		m, err := startMember(program, dir, arguments)
		if err != nil {
			e.close()
			return nil, err
		}
		e = append(e, m)
	}
	for _, m := range e {
		if err := m.Await(); err != nil {
			e.close()
			return nil, err
		}
	}
	return e, nil
}

func startMember(program, dir string, arguments []string) (*member.Member, error) {
	log, err := os.Create(filepath.Join(dir, arguments[1]+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has a descriptor of its own
	return member.Start(program, dir, log, arguments...)
}

// urls are those of all members, with commas between.
func (e etcd) urls() string {
	var all []string
	for _, m := range e {
		all = append(all, m.URL)
	}
	return strings.Join(all, ",")
}

func (e etcd) close() {
	for _, m := range e {
		m.Stop()
	}
}
