package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the user and group of the server in a container.
const imageUser = 65532

// writeImage writes an OCI image layout as one archive, with an index of the images of all platforms.
func (b build) writeImage(platforms []platform) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		image, err := b.image(p)
		if err != nil {
			return err
		}
		described := v1.Descriptor{Platform: &v1.Platform{OS: p.system, Architecture: p.arch}}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: described})
	}
	index = mutate.Annotations(index, b.labels()).(v1.ImageIndex)
	dir := filepath.Join(b.stage, "image")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "capstan:" + b.version})); err != nil {
		return err
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, file)
			entries = append(entries, entry{name, file, 0o644})
		}
		return err
	})
	if err != nil {
		return err
	}
	return writeTo(filepath.Join(b.dist, "capstan-image.oci.tar"), func(w io.Writer) error { return writeTar(w, entries, b.time) })
}

func (b build) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":         "capstan",
		"org.opencontainers.image.description":   "A cluster control plane's API server",
		"org.opencontainers.image.url":           homepage,
		"org.opencontainers.image.source":        homepage,
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.version":       b.version,
		"org.opencontainers.image.revision":      b.commit,
		"org.opencontainers.image.created":       b.time.Format(time.RFC3339),
		"org.opencontainers.image.documentation": homepage + "/blob/main/docs/howto/install.md",
	}
}

// image has a layer for each program, so that an upgrade of one is a download of one.
func (b build) image(p platform) (v1.Image, error) {
	base, err := b.base(p)
	if err != nil {
		return nil, err
	}
	tars := [][]byte{base}
	for _, program := range programs {
		var layer bytes.Buffer
		if err := writeTar(&layer, []entry{{"usr/bin/" + program, b.binary(program, p), 0o755}}, b.time); err != nil {
			return nil, err
		}
		tars = append(tars, layer.Bytes())
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, content := range tars {
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: b.time}, CreatedBy: "make dist"}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	return mutate.ConfigFile(image, b.config(p, image))
}

func (b build) config(p platform, image v1.Image) *v1.ConfigFile {
	old, err := image.ConfigFile()
	if err != nil {
		old = &v1.ConfigFile{}
	}
	config := old.DeepCopy()
	config.OS, config.Architecture, config.Created = p.system, p.arch, v1.Time{Time: b.time}
	config.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/usr/bin/capstan"},
		Cmd:          []string{"serve", "--data-dir=/var/lib/capstan", "--bind-address=0.0.0.0", "--logging-format=json"},
		Env:          []string{"PATH=/usr/bin", "HOME=/var/lib/capstan"},
		WorkingDir:   "/var/lib/capstan",
		Volumes:      map[string]struct{}{"/var/lib/capstan": {}},
		ExposedPorts: map[string]struct{}{"6443/tcp": {}},
		Labels:       b.labels(),
		StopSignal:   "SIGTERM",
	}
	return config
}

// base is the layer without programs: names of the user, the folder of the data, and the licences.
func (b build) base(p platform) ([]byte, error) {
	var layer bytes.Buffer
	out := tar.NewWriter(&layer)
	made := map[string]bool{".": true}
	files := []struct{ path, content, source string }{
		{path: "etc/group", content: "root:x:0:\ncapstan:x:65532:\n"},
		{path: "etc/passwd", content: "root:x:0:0:root:/:/sbin/nologin\ncapstan:x:65532:65532:capstan:/var/lib/capstan:/sbin/nologin\n"},
		{path: "usr/share/doc/capstan/LICENSE", source: filepath.Join(b.root, "LICENSE")},
		{path: "usr/share/doc/capstan/NOTICES", source: b.notices(p)},
	}
	for _, f := range files {
		content := []byte(f.content)
		if f.source != "" {
			var err error
			if content, err = os.ReadFile(f.source); err != nil {
				return nil, err
			}
		}
		if err := writeFolders(out, filepath.Dir(f.path), made, b.time); err != nil {
			return nil, err
		}
		header := &tar.Header{Name: f.path, Mode: 0o644, Size: int64(len(content)), ModTime: b.time, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if err := out.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := out.Write(content); err != nil {
			return nil, err
		}
	}
	if err := writeFolders(out, "var/lib", made, b.time); err != nil {
		return nil, err
	}
	data := &tar.Header{Name: "var/lib/capstan/", Mode: 0o700, Uid: imageUser, Gid: imageUser, ModTime: b.time, Format: tar.FormatPAX, Typeflag: tar.TypeDir}
	if err := out.WriteHeader(data); err != nil {
		return nil, err
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}
