package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropProgram takes the code and the constants of the program out of the memory of the
// process. Pages that are needed again come back from the machine's cache of files, those
// that only a start needs stay away. Without /proc nothing is done.
func dropProgram() {
	for _, m := range programMappings() {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// programMappings are the parts of the program that cannot be written and have not been
// changed, as the relocations of a loader and the breakpoints of a debugger change them:
// each page is that of the file.
func programMappings() (all []mapping) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	var m mapping
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 {
			m = mapping{}
			if strings.HasSuffix(line, " "+program) && len(rights) > 1 && rights[1] == '-' {
				m = mapping{from, to}
			}
			continue
		}
		if kilobytes, found := strings.CutPrefix(line, "Anonymous:"); found && m.to > m.from && strings.TrimSpace(kilobytes) == "0 kB" {
			all = append(all, m)
		}
	}
	return all
}
