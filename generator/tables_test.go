package main

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/schema"
)

// tables are the generated tables, by the folder of their documents.
var tables = catalog.Tables()

// allReleases is the model with those of all releases.
var allReleases = sync.OnceValues(func() (*model.Model, error) { return load.All("..") })

// sayable is a table without the rules that JSON Schema has no words for.
func sayable(table *schema.Table) *schema.Table {
	less := *table
	less.Types = slices.Clone(table.Types)
	for i := range less.Types {
		t := &less.Types[i]
		if t.Demands = nil; t.Rules != nil {
			rules := *t.Rules
			rules.Keys, rules.MaxBytes, rules.Further = "", 0, nil // TestKeywordsAgree is about those
			t.Rules = &rules
		}
	}
	return &less
}

// The compiler gives the same tables at run time that the generator wrote as Go data, so
// tests of one hold for the other.
func TestGeneratedTablesAreTheCompiledOnes(t *testing.T) {
	m, err := allReleases()
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		generated := tables[gv.Dir]
		if generated == nil {
			t.Errorf("the catalog has no table of %s: run make generate", gv.Dir)
			continue
		}
		if reflect.DeepEqual(generated, gv.Table) {
			continue
		}
		t.Errorf("the generated table of %s differs: run make generate", gv.Dir)
		for i := range min(len(generated.Types), len(gv.Table.Types)) {
			if !reflect.DeepEqual(generated.Types[i], gv.Table.Types[i]) {
				t.Errorf("type %d is\n%+v, generated is\n%+v", i, gv.Table.Types[i], generated.Types[i])
				break
			}
		}
	}
	usual := 0 // of the tables, besides those of group versions that only other releases have
	for _, table := range tables {
		if len(table.Types) > 0 {
			usual++
		}
	}
	if len(m.GroupVersions) != usual {
		t.Errorf("%d group versions, %d tables", len(m.GroupVersions), usual)
	}
}
