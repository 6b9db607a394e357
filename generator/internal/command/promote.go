package command

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/suggest"
)

func newPromote(root string) *cobra.Command {
	c := &cobra.Command{Use: "promote", Short: "Give a version a part that another one had", Args: suggest.Command,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(&cobra.Command{
		Use: "storage [GROUP/]VERSION", Short: "Store objects in a version that the last release has", Args: cobra.ExactArgs(1),
		Example: "capstan-gen promote storage v1", ValidArgsFunction: versionNames(root),
		Long: "Moves the stored version of all kinds that a version serves: storedAs in every version, and the keys that only the stored version\nhas (columns, selectable, generation, hooks and others), with the names of renamed fields. It prints what designers and\n" +
			"operators do then. It ends with 1 when the last release does not serve the version, since it could not read the objects.",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := load.Load(root)
			if err != nil {
				return err
			}
			to, err := servedVersion(m, args[0])
			if err != nil {
				return err
			}
			release, err := compat.ReadRelease(filepath.Join(root, filepath.FromSlash(compat.Released)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if release != nil && !release.None() && release.Served[to.Dir] == "" {
				return verdict{fmt.Errorf("release %s does not serve %s, so it could not read the objects after a way back: release %s first, and promote it for the release after that", release.Version, to.Dir, to.Dir)}
			}
			p := &promotion{root: root, model: m, to: to, files: map[string][]byte{}}
			if err := p.move(); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), p.report(release))
			return err
		},
	})
	return c
}

// ownVersions are the versions of a project that are not built in.
func ownVersions(m *model.Model) (all []*model.GroupVersion) {
	for _, gv := range m.GroupVersions {
		if gv.Served && !gv.BuiltIn {
			all = append(all, gv)
		}
	}
	return all
}

// servedVersion is the version that an argument names, as fleet/v1 or as v1.
func servedVersion(m *model.Model, name string) (*model.GroupVersion, error) {
	var found []*model.GroupVersion
	var names []string
	for _, gv := range ownVersions(m) {
		if names = append(names, gv.Dir); gv.Dir == name || gv.Version == name {
			found = append(found, gv)
		}
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%d groups have a version %s: write one like %s", len(found), name, found[0].Dir)
	case len(found) == 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("there is no version %q: write one of %s", name, strings.Join(names, ", "))
}

// versionNames completes the name of a version.
func versionNames(root string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
		if m, err := load.Load(root); err == nil {
			for _, gv := range ownVersions(m) {
				names = append(names, gv.Dir)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// promotion is the move of the stored version of kinds to another version.
type promotion struct {
	root   string
	model  *model.Model
	to     *model.GroupVersion
	files  map[string][]byte // by name, changed documents
	moved  []*model.Resource // of the version to which they move
	hooks  []string          // hooks that see the objects of the other version from now on
	keys   map[string]bool   // keys that moved
	rename [][2]string       // methods of the hooks, by their old and new names
	write  []string          // methods of the hooks that the new documents need
	drop   []string          // methods that they no longer need
}

// move changes the documents, all or none.
func (p *promotion) move() error {
	p.keys = map[string]bool{}
	for _, r := range p.to.Resources {
		if r.StoredAs == nil {
			continue
		}
		if err := p.resource(r, r.StoredAs); err != nil {
			return err
		}
		p.moved = append(p.moved, r)
	}
	if p.moved == nil {
		return fmt.Errorf("%s stores all of its kinds itself already", p.to.Dir)
	}
	now, err := load.With(p.root, p.files)
	if err != nil {
		return fmt.Errorf("nothing is written: the documents would be wrong after the move, since\n%w", err)
	}
	if err := p.compareMethods(now); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if err := os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)), p.files[name], 0o644); err != nil {
			return errors.Join(err, errors.New("the documents are written in part: take them from version control"))
		}
	}
	return nil
}

// resource makes one kind stored as to, which was stored as from.
func (p *promotion) resource(to, from *model.Resource) error {
	is, err := p.open(to)
	if err != nil {
		return err
	}
	was, err := p.open(from)
	if err != nil {
		return err
	}
	renamed := model.Renames(model.Side{Of: from.Type, Within: p.model.GroupVersions}, model.Side{Of: to.Type, Within: p.model.GroupVersions})
	hooks, converts := was.list("hooks"), false
	for _, h := range is.list("hooks") {
		if converts = converts || h == "convert"; h != "convert" && !slices.Contains(hooks, h) {
			hooks = append(hooks, h)
		}
	}
	is.drop("storedAs", "hooks")
	carried := is.take("carries")
	for _, key := range storedKeys {
		block := was.take(key)
		if block == nil {
			continue
		}
		p.keys[key] = true
		is.drop(key)
		for i, line := range block {
			block[i] = renamed.In(line)
		}
		is.add(block...)
	}
	if fields := selectables(was.drop("selectable"), is.drop("selectable"), renamed); fields != "" {
		p.keys["selectable"] = true
		is.add(fields)
	}
	if was.drop("hooks"); len(hooks) > 0 {
		p.keys["hooks"] = true
		p.hooks = append(p.hooks, to.Kind+": "+strings.Join(hooks, ", ")+renamedFields(renamed))
		is.add("hooks: [" + strings.Join(hooks, ", ") + "]\n")
	}
	if was.addFirst("storedAs: "+to.GV.Dir+"/"+to.Kind+"\n", carried); converts {
		was.add("hooks: [convert]\n")
	}
	p.close(is)
	p.close(was)
	return p.others(to, from)
}

// renamedFields tells the authors of hooks which fields have other names.
func renamedFields(all model.Renaming) (text string) {
	for _, path := range slices.Sorted(maps.Keys(all)) {
		text += fmt.Sprintf("; rename %s to %s", strings.TrimPrefix(path, "."), strings.TrimPrefix(all[path], "."))
	}
	return text
}

// compareMethods finds the methods of hooks that get other names.
func (p *promotion) compareMethods(now *model.Model) error {
	var methods [2][]string
	for i, m := range []*model.Model{p.model, now} {
		files, err := emitAll(m, emitters()["internal/gen"])
		if err != nil {
			return err
		}
		for _, f := range files {
			if filepath.Base(f.Path) != "hooks.go" {
				continue
			}
			for _, found := range methodOf.FindAllSubmatch(f.Data, -1) {
				methods[i] = append(methods[i], string(found[1]))
			}
		}
	}
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return slices.Contains(others, m) })
	}
	p.write, p.drop = without(methods[1], methods[0]), without(methods[0], methods[1])
	p.pairMethods()
	return nil
}

// pairMethods finds the methods that get another name, and stay what they are otherwise.
func (p *promotion) pairMethods() {
	p.write = slices.DeleteFunc(p.write, func(now string) bool {
		name, signature, _ := strings.Cut(now, "(")
		i := slices.IndexFunc(p.drop, func(was string) bool {
			before, same, _ := strings.Cut(was, "(")
			return same == signature && (strings.HasPrefix(name, before) || strings.HasPrefix(before, name))
		})
		if i < 0 {
			return false
		}
		before, _, _ := strings.Cut(p.drop[i], "(")
		p.rename = append(p.rename, [2]string{before, name})
		p.drop = slices.Delete(p.drop, i, i+1)
		return true
	})
}

// others lets further versions follow, which were stored as from too.
func (p *promotion) others(to, from *model.Resource) error {
	for _, gv := range p.model.GroupVersions {
		for _, r := range gv.Resources {
			if r.StoredAs != from || r == to {
				continue
			}
			o, err := p.open(r)
			if err != nil {
				return err
			}
			o.drop("storedAs")
			o.addFirst("storedAs: "+to.GV.Dir+"/"+to.Kind+"\n", nil)
			p.close(o)
		}
	}
	return nil
}
