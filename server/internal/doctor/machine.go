package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/store"
)

// Bounds of a machine.
const (
	leastSpace  = 1 << 30               // of a disk, in bytes: above the reserve of the store
	slowSync    = 20 * time.Millisecond // for a write that waits for the disk
	leastFiles  = 4096                  // open files: each client has a connection
	leastMemory = 256 << 20             // bytes
	leastTasks  = 128                   // threads: some for each processor, and one for each call that waits for the disk
)

// checkDirectory looks at the data directory, and whether its store can be opened.
func checkDirectory(_ context.Context, s *Subject, server *client.REST) []Finding {
	info, err := os.Stat(s.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first start makes it
	case err != nil:
		return []Finding{problem("give the user of the server the right to read and write it", "%s cannot be looked at: %v", s.DataDir, err)}
	case !info.IsDir():
		return []Finding{problem("name another directory with --data-dir", "%s is not a directory", s.DataDir)}
	}
	var all []Finding
	if info.Mode().Perm()&0o077 != 0 {
		all = append(all, warning("chmod 0700 "+s.DataDir, "other users of the machine may look into %s (mode %04o), where private keys and secrets are", s.DataDir, info.Mode().Perm()))
	}
	all = append(all, checkOwner(s, os.Geteuid())...)
	dir := filepath.Join(s.DataDir, "store")
	if _, err := os.Stat(dir); err != nil || server != nil { // a server has the store open
		return all
	}
	opened, err := store.OpenReadOnly(store.Config{Dir: dir})
	var format *store.FormatError
	switch {
	case err == nil:
		_ = opened.Close() // of a read
	case errors.Is(err, store.ErrLocked):
		lock := filepath.Join(dir, "LOCK")
		all = append(all, problem("stop it ('fuser "+lock+"' finds it too), or wait until it answers", "%s has the store open, and no server answers",
			cmp.Or(lockHolder("/proc", lock), "a process")))
	case errors.As(err, &format):
		all = append(all, problem("use the release that wrote it, or restore a backup", "the store is of another release: %v", err))
	default:
		all = append(all, problem("capstan store check --data-dir "+s.DataDir+" says more; restore a backup", "the store cannot be opened: %v", err))
	}
	return all
}

// checkOwner looks whether one user owns the data directory and all files in it. user is that of this process.
func checkOwner(s *Subject, user int) []Finding {
	owner, known := ownerOf(s.DataDir)
	if !known {
		return nil
	}
	if user != 0 && user != owner {
		return []Finding{problem("run the server, and this command, as its owner", "%s belongs to the user %d, and this is the user %d", s.DataDir, owner, user)}
	}
	for _, dir := range []string{s.DataDir, filepath.Join(s.DataDir, "pki"), filepath.Join(s.DataDir, "store")} {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			return nil // the pattern is right
		}
		for _, file := range files {
			if other, known := ownerOf(file); known && other != owner {
				return []Finding{warning(fmt.Sprintf("chown -R %d %s", owner, s.DataDir),
					"%s belongs to the user %d, and the data directory to the user %d", file, other, owner)}
			}
		}
	}
	return nil
}

// checkDisk measures the disk of the data directory.
func checkDisk(_ context.Context, s *Subject, _ *client.REST) []Finding {
	dir := s.DataDir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	var all []Finding
	if free, kind, err := fileSystem(dir); err == nil {
		all = checkFileSystem(dir, free, kind)
	}
	took, err := syncTime(dir)
	return append(all, checkSync(dir, took, err)...)
}

// checkFileSystem judges the free space, in bytes, and the kind of a directory's file system.
func checkFileSystem(dir string, free uint64, kind int64) (all []Finding) {
	if free < leastSpace {
		all = append(all, problem("free space, or move the data directory", "%d MiB are free on the disk of %s", free>>20, dir))
	}
	if unsuited := unsuitedFor(kind); unsuited != "" {
		all = append(all, warning("use a directory on a local disk", "%s is on %s", dir, unsuited))
	}
	return all
}

// checkSync judges the time of a small write.
func checkSync(dir string, took time.Duration, err error) []Finding {
	switch {
	case err != nil:
		return []Finding{problem("give the user of the server the right to write there", "a file in %s cannot be written: %v", dir, err)}
	case took > slowSync:
		return []Finding{warning("use a disk that is faster, or less busy: each write of a single client waits for it", "the disk of %s needs %v to keep a write",
			dir, took.Round(time.Millisecond))}
	}
	return nil
}

// syncTime is the median of the times that a small write needs to be on the disk.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = f.Close() // it is removed
		_ = os.Remove(f.Name())
	}()
	var times []time.Duration
	for range 9 {
		begin := time.Now()
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// checkPort tries to listen where the server will, if none answers there.
func checkPort(_ context.Context, s *Subject, server *client.REST) []Finding {
	if server != nil || s.Address == "" {
		return nil
	}
	l, err := net.Listen("tcp", s.Address)
	switch {
	case err == nil:
		_ = l.Close() // nobody has connected
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return []Finding{problem("stop the program ('ss -ltnp' names it), or choose another port with --secure-port", "%s listens on %s",
			cmp.Or(portHolder("/proc", s.Address), "another program"), s.Address)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return []Finding{problem("use one of this machine's addresses with --bind-address, or 0.0.0.0 for all", "%s is not an address of this machine", s.Address)}
	case errors.Is(err, syscall.EACCES):
		return []Finding{problem("choose a port above 1023 with --secure-port", "this user may not listen on %s", s.Address)}
	}
	return []Finding{problem("choose another address with --bind-address and --secure-port", "the server cannot listen on %s: %v", s.Address, err)}
}
