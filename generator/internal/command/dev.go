package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/load"
)

const (
	// lookEvery is the time between two looks at the files. A look costs a stat per file,
	// and works on every file system.
	lookEvery = 150 * time.Millisecond
	// stopWithin is the time that a server has to end before it is killed.
	stopWithin = 5 * time.Second
)

// dev follows the files of a project with a server.
type dev struct {
	root, program string // program is the package of the server's program
	binary        string
	args          []string // of the server
	out           io.Writer
	server        *exec.Cmd
	ended         chan error // receives the end of server
}

func newDev(root string) *cobra.Command {
	var program, data string
	var port int
	c := &cobra.Command{
		Use: "dev [-- FLAGS]", Short: "Serve, and follow every change of a document or a hook",
		Long: "Builds and runs the server; at every change of a document it generates, builds and restarts,\nwith the data kept. Mistakes are shown while the server before them goes on. What follows -- are\nflags of its command serve.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if program == "" {
				program = "."
				if _, err := os.Stat(filepath.Join(root, "main.go")); err != nil {
					program = "./server/cmd/capstan"
				}
			}
			if data == "" {
				data = filepath.Join(root, ".tmp", "dev")
			}
			var err error
			if data, err = filepath.Abs(data); err != nil {
				return err
			}
			if !cmd.Flags().Changed("secure-port") || port == 0 {
				if port, err = freePort(port, cmd.OutOrStdout()); err != nil {
					return err
				}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			d := &dev{root: root, program: program, binary: filepath.Join(data, "server"), out: cmd.OutOrStdout(),
				args: append([]string{"serve", "--data-dir", data, "--secure-port", fmt.Sprint(port), "--log-level", "warn"}, args...)}
			return d.run(ctx)
		},
	}
	c.Flags().StringVar(&program, "program", "", "package of the server's program (default: that of the project)")
	c.Flags().StringVar(&data, "data-dir", "", "where the server keeps its data (default .tmp/dev)")
	c.Flags().IntVar(&port, "secure-port", 6443, "port of the server; without the flag another one if it is taken, with 0 any")
	return c
}

// freePort is the wanted port of the loopback interface, or another one if that is taken. A restart keeps it.
func freePort(wanted int, out io.Writer) (int, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", wanted))
	if errors.Is(err, syscall.EADDRINUSE) {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 0, fmt.Errorf("no port for the server: %w; name one with --secure-port", err)
	}
	defer func() { _ = l.Close() }()
	free := l.Addr().(*net.TCPAddr).Port
	if wanted != 0 && free != wanted {
		_, err = fmt.Fprintf(out, "dev: port %d is taken by another program, so the server has %d\n", wanted, free)
	}
	return free, err
}

// run follows the files until ctx ends.
func (d *dev) run(ctx context.Context) error {
	defer d.stop()
	seen, err := d.look()
	if err != nil {
		return err
	}
	d.renew(ctx, nil)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-d.ended:
			d.ended, d.server = nil, nil
			d.say("the server ended by itself (%v); it starts again with the next change", err)
		case <-time.After(lookEvery):
		}
		now, err := d.look()
		if err != nil {
			return err
		}
		if changed := changes(seen, now); len(changed) > 0 {
			seen = now
			d.renew(ctx, changed)
		}
	}
}

func (d *dev) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, "dev: "+format+"\n", args...)
}

// renew generates, builds and restarts. A mistake is shown, and leaves the server as it is.
func (d *dev) renew(ctx context.Context, changed []string) {
	start := time.Now()
	if len(changed) > 0 {
		d.say("%s changed", strings.Join(changed, ", "))
	}
	m, err := load.All(d.root)
	if err == nil {
		err = generateOf(m, d.root, emitters(), io.Discard, start)
	}
	if err != nil {
		d.say("the documents are wrong:\n%v", err)
		d.waits()
		return
	}
	if _, err := os.Stat(d.binary); errors.Is(err, fs.ErrNotExist) {
		d.say("waiting for the first build of %s, with all libraries: it takes minutes on a new machine, later ones take seconds", d.program)
	}
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", d.binary, d.program)
	build.Dir = d.root
	if len(changed) > 0 { // few packages: their garbage fits into memory
		build.Env = append(os.Environ(), "GOGC=800")
	}
	if text, err := build.CombinedOutput(); err != nil {
		d.say("the program does not build: %v\n%s", err, text)
		d.waits()
		return
	}
	d.stop()
	server := exec.Command(d.binary, slices.Insert(slices.Clone(d.args), 1, alphaOn(m)...)...)
	server.Stdout, server.Stderr = d.out, d.out
	if err := server.Start(); err != nil {
		d.say("the server does not start: %v", err)
		return
	}
	d.server, d.ended = server, make(chan error, 1)
	go func(ended chan<- error) { ended <- server.Wait() }(d.ended)
	d.say("the server of this state runs after %s; waiting for changes of openapi/, schemas/, Go files and go.mod", time.Since(start).Round(10*time.Millisecond))
}

// waits says what the next change has to mend, and for whom the server before it goes on.
func (d *dev) waits() {
	if d.server != nil {
		d.say("waiting for a change that mends it; the server before it goes on")
		return
	}
	d.say("waiting for a change that mends it; there is no server yet")
}

// stop ends the server, if there is one.
func (d *dev) stop() {
	if d.server == nil {
		return
	}
	_ = d.server.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(stopWithin):
		_ = d.server.Process.Kill()
		<-d.ended
	}
	d.server, d.ended = nil, nil
}

// look notes the files of the project that a server is made of: their times and sizes.
func (d *dev) look() (map[string]string, error) {
	seen := map[string]string{}
	err := filepath.WalkDir(d.root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went while the folder was read
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") || name == "gen" || name == "internal/gen" || name == "openapi/released" ||
				name == "schemas/examples" {
				return filepath.SkipDir
			}
			return nil
		}
		document := strings.HasSuffix(name, ".yaml") && (strings.HasPrefix(name, "openapi/") || strings.HasPrefix(name, "schemas/"))
		if source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"); !document && !source && name != "go.mod" {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			seen[name] = fmt.Sprint(info.ModTime().UnixNano(), info.Size())
		}
		return nil
	})
	return seen, err
}

// changes are the files that differ between two looks.
func changes(before, now map[string]string) []string {
	names := map[string]bool{}
	for name, state := range now {
		if before[name] != state {
			names[name] = true
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
