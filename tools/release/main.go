// Command release makes the packages of a release of the binaries that `make dist` has built: archives, packages of
// Debian and of RPM, an image and a chart. The same commit gives the same bytes everywhere.
//
//	release -root ../.. -dist ../../dist -version v1.2.3 -commit 0123abc -time 2026-11-28T03:37:42Z linux/amd64 darwin/arm64
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// platform is an operating system and an architecture, in Go's names.
type platform struct{ system, arch string }

func (p platform) String() string { return p.system + "-" + p.arch }

// build is the place of a release's files, and their origin.
type build struct {
	origin
	root, dist string
	// stage has the files that are made here and go into packages: manual pages, completions, notices.
	stage string
}

func run(args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "the repository")
	dist := flags.String("dist", "dist", "the folder of the binaries, where the packages are written")
	version := flags.String("version", "", "the version, by git describe")
	commit := flags.String("commit", "", "the commit")
	committed := flags.String("time", "", "the time of the commit, which all files get (RFC 3339)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o, err := newOrigin(*version, *commit, *committed)
	if err != nil {
		return err
	}
	b := build{origin: o, root: *root, dist: *dist}
	if b.stage, err = os.MkdirTemp("", "capstan-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.stage)
	var platforms []platform
	for _, arg := range flags.Args() {
		system, arch, ok := strings.Cut(arg, "/")
		if !ok {
			return fmt.Errorf("platform %q: write it as linux/amd64", arg)
		}
		platforms = append(platforms, platform{system, arch})
	}
	return b.make(platforms)
}

func (b build) make(platforms []platform) error {
	if err := b.writeManuals(); err != nil {
		return err
	}
	if err := b.writeCompletions(); err != nil {
		return err
	}
	var linux []platform
	for _, p := range platforms {
		if err := b.writeNotices(p); err != nil {
			return err
		}
		if err := b.writeArchive(p); err != nil {
			return err
		}
		if p.system != "linux" {
			continue
		}
		linux = append(linux, p)
		for _, format := range []string{"deb", "rpm"} {
			if err := b.writePackage(format, p); err != nil {
				return fmt.Errorf("%s for %s: %w", format, p, err)
			}
		}
	}
	if len(linux) > 0 {
		if err := b.writeImage(linux); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	return b.writeChart()
}

// binary is the path of a program that make dist has built.
func (b build) binary(name string, p platform) string {
	return filepath.Join(b.dist, name+"-"+p.String())
}

// programs are the binaries of each package. The first one starts the second one for servers on etcd.
var programs = []string{"capstan", "capstan-etcd"}
