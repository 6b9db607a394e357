package converttest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/yaml"
)

// seeds are the drawn objects of each version.
const seeds = 400

// HandWritten are the resources whose conversion is more than copying.
func HandWritten(groups []*api.GroupVersion) (all []*api.Resource) {
	for _, gv := range groups {
		for i := range gv.Resources {
			if c := gv.Resources[i].Conversion; c != nil && (c.ToStorage.Hook != nil || c.FromStorage.Hook != nil) {
				all = append(all, &gv.Resources[i])
			}
		}
	}
	return all
}

// All tries every hand-written conversion with drawn objects and with those of a folder, and reports the problems.
func All(t *testing.T, groups []*api.GroupVersion, folder string) {
	examples := examplesIn(t, folder)
	for _, res := range HandWritten(groups) {
		t.Run(res.Kind+" of "+res.GV.APIVersion(), func(t *testing.T) {
			tr := New(res)
			for seed := range uint64(seeds) {
				tr.Draw(t, seed)
			}
			for _, of := range []*api.Resource{res, res.Storage()} {
				for _, example := range examples {
					if example.Kind == of.Kind && example.APIVersion == of.GV.APIVersion() {
						tr.Try(t, of, example.text, false)
					}
				}
			}
			for _, problem := range tr.Problems() {
				t.Error(problem)
			}
		})
	}
}

// Fuzz tries every hand-written conversion with the objects of a seed.
func Fuzz(f *testing.F, groups []*api.GroupVersion) {
	f.Add(uint64(seeds))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, res := range HandWritten(groups) {
			tr := New(res)
			tr.Draw(t, seed)
			for _, text := range tr.lost {
				t.Error(text)
			}
		}
	})
}

// example is an object of a folder.
type example struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	text       []byte
}

// examplesIn reads the objects in the files of a folder, which may be missing.
func examplesIn(t *testing.T, folder string) (all []example) {
	files, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, file := range files {
		if ext := filepath.Ext(file.Name()); ext != ".yaml" && ext != ".json" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var e example
		if err := yaml.Unmarshal(text, &e); err != nil {
			continue // another test reads it
		}
		if e.text, err = yaml.ToJSON(text); err == nil {
			all = append(all, e)
		}
	}
	return all
}
