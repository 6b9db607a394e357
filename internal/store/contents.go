package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// contentsFile lists the files of a backup with their sizes. Without the end of its log a store
// looks like an older one, so a backup that was cut short on its way, or lacks a file, is
// found by this list only. A backup that is opened as a store loses its list, since its
// files change then.
const contentsFile = "CONTENTS"

// contents are the sizes of the files of a backup, by name.
type contents map[string]int64

// contentsOf are those of a directory as it is, without the list.
func contentsOf(on vfs.FS, dir string) (contents, error) {
	names, err := on.List(dir)
	if err != nil {
		return nil, err
	}
	c := contents{}
	for _, name := range names {
		if !inBackup(name) {
			continue
		}
		about, err := on.Stat(on.PathJoin(dir, name))
		if err != nil {
			return nil, err
		}
		c[name] = about.Size()
	}
	return c, nil
}

// listContents writes the list of a backup.
func listContents(on vfs.FS, dir string) error {
	c, err := contentsOf(on, dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := on.Create(on.PathJoin(dir, contentsFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(on, dir))
}

// forgetContents removes the list of a backup that is opened as a store.
func forgetContents(on vfs.FS, dir string) error {
	if err := on.Remove(on.PathJoin(dir, contentsFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// checkContents compares a backup with its list. A directory without one is compared with nothing.
func checkContents(on vfs.FS, dir string) error {
	f, err := on.Open(on.PathJoin(dir, contentsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var listed contents
	if err := json.Unmarshal(text, &listed); err != nil {
		return fmt.Errorf("the list of its files, %s, cannot be read: %w", contentsFile, err)
	}
	there, err := contentsOf(on, dir)
	if err != nil {
		return err
	}
	for name, size := range listed {
		if has, ok := there[name]; !ok {
			return fmt.Errorf("the file %s of the backup is missing; copy the backup again", name)
		} else if has != size {
			return fmt.Errorf("the file %s of the backup has %d bytes, not %d; copy the backup again", name, has, size)
		}
	}
	return nil
}
