package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/internal/schema"
)

// TestTablesAsText: every table of the usual release is the same after it was written as text and read.
func TestTablesAsText(t *testing.T) {
	for dir, table := range catalog.Tables() {
		if len(table.Types) == 0 { // only other releases have the group version
			continue
		}
		lines := table.Lines()
		got, err := schema.ParseTable(table.Group, table.Version, lines)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if again := got.Lines(); strings.Join(again, "\n") != strings.Join(lines, "\n") {
			t.Errorf("%s is other text the second time", dir)
		}
		for i := range table.Types {
			if i >= len(got.Types) || !reflect.DeepEqual(got.Types[i], table.Types[i]) {
				t.Errorf("%s: type %d is\n%+v\nfor\n%+v", dir, i, got.Types[i], table.Types[i])
				break
			}
		}
		rest := *table
		if got.Types, rest.Types = nil, nil; !reflect.DeepEqual(got, &rest) {
			t.Errorf("%s: %+v for %+v", dir, got, &rest)
		}
	}
}

// TestReleasesAreTheCompiledOnes: the tables and the published documents that a server makes of the changes are those of the
// documents of each release.
func TestReleasesAreTheCompiledOnes(t *testing.T) {
	m, err := allReleases()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range append([]*model.Model{m}, m.Others...) {
		release := of.Releases.Now
		r, err := catalog.Edition(release)
		if err != nil {
			t.Fatal(err)
		}
		for _, gv := range of.GroupVersions {
			if got := r.Table(gv.Dir, tables[gv.Dir]); !reflect.DeepEqual(got, gv.Table) {
				t.Errorf("%s: the table of %s differs: run make generate", release, gv.Dir)
			}
		}
		published, err := r.Documents(openapi.Documents())
		if err != nil {
			t.Fatal(err)
		}
		files, err := emit.Published(of)
		if err != nil {
			t.Fatal(err)
		}
		same := func(file string, d api.Document) {
			at := slices.IndexFunc(files, func(f emit.File) bool { return f.Path == file })
			text, err := d.JSON.Text()
			if err != nil || at < 0 || string(files[at].Data) != string(text) {
				t.Errorf("%s: the document %q differs (%v): run make generate", release, file, err)
			}
		}
		same("", published.V2)
		for _, d := range published.V3 {
			same(d.Path, d)
		}
		if len(files) != len(published.V3)+1 {
			t.Errorf("%s: %d documents are published, and the release has %d", release, len(published.V3)+1, len(files))
		}
	}
}
