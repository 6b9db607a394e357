package command

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// TestDropProgram: the pages of the program leave the process, which runs on.
func TestDropProgram(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		t.Skip(err)
	}
	if len(programMappings()) == 0 {
		t.Fatal("no part of the program is found")
	}
	before := residentFile(t)
	dropProgram()
	if after := residentFile(t); after > before*3/4 {
		t.Errorf("%d KiB of files are resident, %d before", after, before)
	}
}

// residentFile is the memory of the process that pages of files take, in KiB.
func residentFile(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := bytes.Cut(status, []byte("RssFile:"))
	fields := bytes.Fields(after)
	n, err := strconv.Atoi(string(fields[0]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
