package doctor

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockHolder is the process that has a lock on a file; "" when it is not known.
func lockHolder(proc, file string) string {
	var stat syscall.Stat_t
	if err := syscall.Stat(file, &stat); err != nil {
		return ""
	}
	// "1: POSIX  ADVISORY  WRITE 812 fe:00:1837 0 EOF"
	locked := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(stat.Dev)), unix.Minor(uint64(stat.Dev)), stat.Ino)
	text, err := os.ReadFile(filepath.Join(proc, "locks"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 5 && fields[5] == locked {
			return process(proc, fields[4])
		}
	}
	return ""
}

// portHolder is the process that listens on the port of an address; "" when it is not known, as that of another user
// is.
func portHolder(proc, address string) string {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		listeners(filepath.Join(proc, table), port, sockets)
	}
	files, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "fd", "*"))
	if err != nil {
		return "" // the pattern is right
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && sockets[to] {
			return process(proc, filepath.Base(filepath.Dir(filepath.Dir(file))))
		}
	}
	return ""
}

// listening is the state of a socket that listens, in the tables of the kernel.
const listening = "0A"

// listeners adds the sockets of a table that listen on a port, as links to them read: "socket:[71]".
func listeners(table string, port uint64, sockets map[string]bool) {
	text, err := os.ReadFile(table)
	if err != nil {
		return
	}
	local := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], local) && f[3] == listening {
			sockets["socket:["+f[9]+"]"] = true
		}
	}
}

// process is a process in words: "the process 812 (capstan)".
func process(proc, id string) string {
	name, err := os.ReadFile(filepath.Join(proc, id, "comm"))
	if err != nil {
		return "the process " + id
	}
	return fmt.Sprintf("the process %s (%s)", id, strings.TrimSpace(string(name)))
}
