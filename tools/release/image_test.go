package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage: the image is valid, and its command serves as the user of the image on a root that nobody can write to.
func TestImage(t *testing.T) {
	dir, root := t.TempDir(), filepath.Join(t.TempDir(), "root")
	extract(t, dir, one(t, released(t, "v1.0.0"), "capstan-image.oci.tar"))
	image := imageOf(t, dir)
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack := exec.Command("tar", "-x", "-p", "-C", root)
	layers := mutate.Extract(image)
	defer layers.Close()
	unpack.Stdin = layers
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A runtime mounts these, and the volume.
	for _, folder := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	volume := filepath.Join(root, "var/lib/capstan")
	mounts := `mount --bind "$0" "$0"; mount --bind /dev "$0/dev"; mount --bind /proc "$0/proc"
		mount --bind "$0/var/lib/capstan" "$0/var/lib/capstan"; mount -o remount,bind,ro "$0"; ! touch "$0/written" 2> /dev/null
		`
	command := append(append(config.Config.Entrypoint, config.Config.Cmd...), "--secure-port=0", "--bind-address=127.0.0.1")
	s := startIn(t, root, mounts, config.Config.User, command...)
	ask(t, root, createKept)
	ask(t, root, getKept)
	s.stop(t)
	if owner, err := exec.Command("stat", "-c", "%u:%g:%a", volume).Output(); err != nil || strings.TrimSpace(string(owner)) != "65532:65532:700" {
		t.Errorf("the volume is of %s, error %v", owner, err)
	}
}

func extract(t *testing.T, dir, archive string) {
	t.Helper()
	if out, err := exec.Command("tar", "-x", "-C", dir, "-f", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// imageOf is the image for the tested platform in a layout.
func imageOf(t *testing.T, dir string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, error %v", manifest, err)
	}
	platforms, err := index.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = platforms.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.OS == tested.system && m.Platform.Architecture == tested.arch {
			image, err := platforms.Image(m.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("no image for %s among %v", tested, manifest.Manifests)
	return nil
}
