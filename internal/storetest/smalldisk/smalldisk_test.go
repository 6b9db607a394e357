package smalldisk

import (
	"errors"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestDisk(t *testing.T) {
	d := New(vfs.NewMem(), 100)
	a, err := d.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := a.Write(make([]byte, 60)); n != 60 || err != nil || d.Free() != 40 {
		t.Errorf("%d, %v, %d are free", n, err, d.Free())
	}
	if n, err := a.Write(make([]byte, 60)); n != 40 || !errors.Is(err, syscall.ENOSPC) || d.Free() != 0 {
		t.Errorf("%d, %v, %d are free; expected what fits and ENOSPC", n, err, d.Free())
	}
	if err := d.Rename("a", "b"); err != nil || d.Used() != 100 {
		t.Errorf("%v, %d are used", err, d.Used())
	}
	again, err := d.ReuseForWrite("b", "c", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := again.Write(make([]byte, 100)); n != 100 || err != nil {
		t.Errorf("writing over what is there: %d, %v", n, err)
	}
	if err := d.Remove("c"); err != nil || d.Used() != 0 {
		t.Errorf("%v, %d are used", err, d.Used())
	}
	if err := again.Preallocate(0, 101); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Preallocate: %v", err)
	}
	d.Resize(1000)
	if usage, err := d.GetDiskUsage("."); err != nil || usage.TotalBytes != 1000 {
		t.Errorf("%+v, %v", usage, err)
	}
}
