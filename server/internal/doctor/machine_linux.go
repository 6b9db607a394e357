package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/capstan-dev/capstan/client"
)

// fileSystem is the free space of a directory's file system, in bytes, and its kind.
func fileSystem(dir string) (free uint64, kind int64, err error) {
	var s syscall.Statfs_t
	err = syscall.Statfs(dir, &s)
	return s.Bavail * uint64(s.Bsize), int64(s.Type), err
}

// unsuitedFor names a kind of file system that keeps no promises to a store; "" for the others. The
// numbers are those of statfs(2).
func unsuitedFor(kind int64) string {
	switch uint32(kind) {
	case 0x6969:
		return "NFS, where a lock and a sync may not hold"
	case 0xff534d42, 0xfe534d42:
		return "a share of SMB, where a lock and a sync may not hold"
	case 0x01021994:
		return "a file system in memory, which a restart of the machine empties"
	case 0x65735546:
		return "a file system in user space (FUSE), where a sync may not hold"
	}
	return ""
}

// checkLimits looks at what the system lets a process have.
func checkLimits(context.Context, *Subject, *client.REST) []Finding {
	var all []Finding
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil && files.Max < leastFiles {
		all = append(all, warning("raise it: 'ulimit -Hn 65536', or LimitNOFILE=65536 in the unit",
			"a process may have %d open files, of which each client needs one", files.Max))
	}
	return append(all, checkGroup("/proc/self/cgroup", "/sys/fs/cgroup")...)
}

// checkGroup looks at what the control group of the process may have: memory and threads.
func checkGroup(groups, root string) (all []Finding) {
	if most := groupLimit(groups, root, "memory.max"); most > 0 && most < leastMemory {
		all = append(all, warning("give it 256 MiB at least: MemoryMax= in the unit, or the limit of the container", "the memory of this process is limited to %d MiB", most>>20))
	}
	if most := groupLimit(groups, root, "pids.max"); most > 0 && most < leastTasks {
		all = append(all, warning("give it more: TasksMax= in the unit, or the limit of the container", "this process may have %d threads", most))
	}
	return all
}

// groupLimit is a limit of the control group of the process; 0 for none.
func groupLimit(groups, root, name string) uint64 {
	text, err := os.ReadFile(groups)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		limit, err := os.ReadFile(filepath.Join(root, path, name))
		if err != nil {
			return 0
		}
		most, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64)
		if err != nil { // "max"
			return 0
		}
		return most
	}
	return 0
}

// ownerOf is the user that a file belongs to.
func ownerOf(file string) (user int, known bool) {
	info, err := os.Lstat(file)
	if err != nil {
		return 0, false
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(of.Uid), true
}

// timeMark is a file that systemd's client of time servers makes when it has set the clock.
const timeMark = "/run/systemd/timesync/synchronized"

// timeError is the state of a clock that nobody keeps: TIME_ERROR of adjtimex(2).
const timeError = 5

// adrift reports whether the system says that no time server keeps the clock.
func adrift(mark string) bool {
	if _, err := os.Stat(mark); err == nil {
		return false
	}
	var state syscall.Timex
	answer, err := syscall.Adjtimex(&state)
	return err == nil && answer == timeError
}
