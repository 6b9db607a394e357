package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

const homepage = "https://github.com/capstan-dev/capstan"

// writePackage writes the package of a Linux in a format, deb or rpm, under the name that its tools give it, without a tilde.
func (b build) writePackage(format string, p platform) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	contents, err := b.contents(format, p)
	if err != nil {
		return err
	}
	info := &nfpm.Info{
		Name: "capstan", Arch: p.arch, Platform: p.system, Version: b.packaged(), VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: "Capstan <" + homepage + ">", Vendor: "Capstan", Homepage: homepage, License: "Apache-2.0",
		Description:     "Cluster control plane's API server\nAn API server with the behaviour of kube-apiserver 1.25, and objects in a store of its own or on etcd.",
		DisableGlobbing: true, MTime: b.time,
	}
	info.Contents = contents
	info.Umask = 0o022
	info.RPM.BuildHost, info.RPM.Group, info.RPM.Summary = "localhost", "System Environment/Daemons", "Cluster control plane's API server"
	scripts := func(name string) string { return filepath.Join(b.root, "packaging", format, name) }
	switch format {
	case "deb":
		info.Release = ""
		info.Depends = []string{"passwd"}
		info.Scripts = nfpm.Scripts{PostInstall: scripts("postinst"), PreRemove: scripts("prerm"), PostRemove: scripts("postrm")}
	case "rpm":
		info.Depends = []string{"/usr/sbin/useradd"}
		info.Scripts = nfpm.Scripts{PostInstall: scripts("post"), PreRemove: scripts("preun"), PostRemove: scripts("postun")}
	}
	info = nfpm.WithDefaults(info)
	// Pages of releases replace a tilde in the names of files, and the sums would not name them any more.
	name := strings.ReplaceAll(packager.ConventionalFileName(info), "~", "-")
	return writeTo(filepath.Join(b.dist, name), func(w io.Writer) error { return packager.Package(info, w) })
}

// contents are the files of a package.
func (b build) contents(format string, p platform) (files.Contents, error) {
	entries, err := b.shared(p)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].path = "usr/" + entries[i].path
		if format == "deb" {
			entries[i].path = strings.Replace(entries[i].path, "zsh/site-functions", "zsh/vendor-completions", 1)
		}
	}
	for _, program := range programs {
		entries = append(entries, entry{"usr/bin/" + program, b.binary(program, p), 0o755})
	}
	unit := filepath.Join(b.root, "packaging", "systemd", "capstan")
	entries = append(entries, entry{"usr/lib/systemd/system/capstan.service", unit + ".service", 0o644})
	var contents files.Contents
	for _, e := range entries {
		contents = append(contents, b.content(e, files.TypeFile))
	}
	return append(contents, b.content(entry{"etc/default/capstan", unit + ".default", 0o644}, files.TypeConfigNoReplace)), nil
}

func (b build) content(e entry, kind string) *files.Content {
	info := &files.ContentFileInfo{Owner: "root", Group: "root", Mode: e.mode, MTime: b.time}
	if stat, err := os.Stat(e.source); err == nil {
		info.Size = stat.Size()
	}
	return &files.Content{Source: e.source, Destination: "/" + e.path, Type: kind, FileInfo: info}
}
