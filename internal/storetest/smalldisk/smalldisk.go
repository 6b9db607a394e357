// Package smalldisk is a file system with little space, for tests of a full disk.
package smalldisk

import (
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk passes everything on to another file system and refuses with ENOSPC to let the
// files grow, together, beyond its size. A write for which there is some space is done in
// part, as the kernel does.
//
// Invariant: used is the sum of files; a file counts until it is removed.
type Disk struct {
	vfs.FS

	mu    sync.Mutex
	size  int64
	used  int64
	files map[string]int64
}

// New returns a disk of size bytes that keeps its files in fs, which is empty.
func New(fs vfs.FS, size int64) *Disk {
	return &Disk{FS: fs, size: size, files: map[string]int64{}}
}

// Resize changes the size. It may be below the used space.
func (d *Disk) Resize(size int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.size = size
}

// Free is the unused space in bytes, at least 0.
func (d *Disk) Free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.size-d.used, 0)
}

// Used is the used space in bytes.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

// grow lets a file end at least at a position, as far as there is space, and returns the
// permitted end.
func (d *Disk) grow(name string, end int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	have := d.files[name]
	if end <= have {
		return end
	}
	end = min(end, have+max(d.size-d.used, 0))
	d.used += end - have
	d.files[name] = end
	return end
}

func (d *Disk) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used -= d.files[name]
	delete(d.files, name)
}

func (d *Disk) move(old, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used -= d.files[name]
	d.files[name] = d.files[old]
	delete(d.files, old)
}

func (d *Disk) open(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &file{File: f, disk: d, name: name}, nil
}

// Create implements vfs.FS.
func (d *Disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err == nil {
		d.forget(name)
	}
	return d.open(name, f, err)
}

// ReuseForWrite implements vfs.FS.
func (d *Disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	if err == nil {
		d.move(old, name)
	}
	return d.open(name, f, err)
}

// OpenReadWrite implements vfs.FS.
func (d *Disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.OpenReadWrite(name, c, o...)
	return d.open(name, f, err)
}

// Remove implements vfs.FS.
func (d *Disk) Remove(name string) error {
	err := d.FS.Remove(name)
	if err == nil {
		d.forget(name)
	}
	return err
}

// Rename implements vfs.FS.
func (d *Disk) Rename(old, name string) error {
	err := d.FS.Rename(old, name)
	if err == nil {
		d.move(old, name)
	}
	return err
}

// GetDiskUsage implements vfs.FS.
func (d *Disk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return vfs.DiskUsage{AvailBytes: uint64(max(d.size-d.used, 0)), TotalBytes: uint64(d.size), UsedBytes: uint64(d.used)}, nil
}

// Unwrap implements vfs.FS.
func (d *Disk) Unwrap() vfs.FS { return d.FS }

// file is a file opened for writing from its beginning.
type file struct {
	vfs.File
	disk *Disk
	name string
	at   int64
}

func (f *file) Write(p []byte) (int, error) {
	fits := f.disk.grow(f.name, f.at+int64(len(p))) - f.at
	n, err := f.File.Write(p[:fits])
	f.at += int64(n)
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return n, err
}

func (f *file) Preallocate(at, length int64) error {
	if f.disk.grow(f.name, at+length) < at+length {
		return syscall.ENOSPC
	}
	return f.File.Preallocate(at, length)
}
