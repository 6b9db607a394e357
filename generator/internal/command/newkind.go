package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

func newKind(root string) *cobra.Command {
	var s scaffoldOf
	var in string
	c := &cobra.Command{
		Use: "kind KIND", Short: "Add a kind to a version of a group", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Kind = args[0]
			gv, err := groupVersion(root, in)
			if err != nil {
				return err
			}
			s.Folder, s.Version, _ = strings.Cut(gv.Dir, "/")
			s.Group = gv.Group
			if err := s.check(); err != nil {
				return err
			}
			path := filepath.Join(root, s.groupFile())
			was, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			doc, top, err := readText(path, was)
			if err != nil {
				return err
			}
			_, there := doc.resourceEntries(top)
			if len(there) == 0 {
				return fmt.Errorf("%s has no resource in lines of its own below x-cluster-resources: add the first one by hand", path)
			}
			resource, err := s.text("resource.yaml.tmpl")
			if err != nil {
				return err
			}
			example := "examples/" + strings.ToLower(s.Kind) + ".yaml"
			if err := s.write(root, map[string]string{s.schemaFile(): "kind.yaml.tmpl", example: "example.yaml.tmpl"}); err != nil {
				return err
			}
			last := there[len(there)-1].until // new kinds are the last ones
			before, after := doc[:last].String(), doc[last:].String()
			if err := os.WriteFile(path, []byte(strings.TrimSuffix(before, "\n")+resource+after), 0o644); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is in %s and %s, with %s. Edit them, then generate.\n", s.Kind, s.schemaFile(), s.groupFile(), example)
			return err
		},
	}
	c.Flags().StringVar(&in, "in", "", "the version, like fleet/v1 (default: the only one)")
	c.Flags().StringVar(&s.LowerPlural, "plural", "", "name of the resource (default: the usual plural)")
	c.Flags().StringVar(&s.Scope, "scope", "Namespaced", "Namespaced or Cluster")
	return c
}

func newVersion(root string) *cobra.Command {
	var from string
	c := &cobra.Command{
		Use: "version [GROUP/]VERSION", Short: "Add a version with all kinds of another one", Args: cobra.ExactArgs(1),
		Long: "Adds a version that serves the kinds of another one with equal schemas, which say only what\ndiffers. Objects stay stored in the earlier version, so that the last release can read them.",
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := load.Load(root)
			if err != nil {
				return err
			}
			folder, version, ok := strings.Cut(args[0], "/")
			if own := ownFolders(m); !ok && len(own) == 1 {
				folder, version, ok = own[0], args[0], true
			}
			if !ok || !versionName.MatchString(version) {
				return fmt.Errorf("%q is not a version of a group: write one like fleet/v1", args[0])
			}
			var all []*model.GroupVersion
			for _, gv := range m.GroupVersions {
				if strings.HasPrefix(gv.Dir, folder+"/") && gv.Served {
					all = append(all, gv)
				}
			}
			at := slices.IndexFunc(all, func(gv *model.GroupVersion) bool { return from == "" || gv.Version == from })
			if at < 0 {
				return fmt.Errorf("there is no openapi/%s/%s.yaml to begin with", folder, from)
			}
			if from == "" { // the preferred one
				for i, gv := range all {
					if gv.VersionPriority > all[at].VersionPriority {
						at = i
					}
				}
			}
			files, err := versionFiles(all, all[at], version)
			if err != nil {
				return err
			}
			if err := create(root, files); err != nil {
				return err
			}
			for _, r := range all[at].Resources {
				if r.Action != nil {
					fmt.Fprintf(cmd.OutOrStdout(), "The action %s stays in %s: add it and the kind of its body here too, if both versions shall have it.\n", r.Plural, all[at].Version)
				}
				for _, sub := range r.Subresources {
					if sub.Action != nil {
						fmt.Fprintf(cmd.OutOrStdout(), "The action %s of %s stays in %s: add it and the kind of its body here too, if both versions shall have it.\n", sub.Name, r.Plural, all[at].Version)
					}
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "openapi/%s/%s.yaml serves the kinds of %s. Say in schemas/%s/%s what differs, then generate.\nObjects stay stored as %s. When a release has %s, capstan-gen promote storage %s moves them.\n", folder, version, all[at].Dir, folder, version, all[at].Version, version, version)
			return err
		},
	}
	c.Flags().StringVar(&from, "from", "", "the version to begin with (default: the preferred one)")
	return c
}

// ownFolders are the folders of a project's own groups.
func ownFolders(m *model.Model) (folders []string) {
	for _, gv := range ownVersions(m) {
		folder, _, _ := strings.Cut(gv.Dir, "/")
		folders = append(folders, folder)
	}
	return slices.Compact(folders)
}

// modeline is the first line of a document, by which editors find its JSON Schema.
const modeline = "# yaml-language-server: $schema=%sinternal/gen/editor/%s.json\n"

// versionFiles are the documents of a new version with the kinds of another.
func versionFiles(all []*model.GroupVersion, from *model.GroupVersion, version string) (map[string]string, error) {
	folder, _, _ := strings.Cut(from.Dir, "/")
	dir := folder + "/" + version
	priority := from.VersionPriority
	for _, gv := range all {
		priority = min(priority, gv.VersionPriority)
	}
	if priority--; priority < 1 {
		return nil, fmt.Errorf("%s: the priority of %s leaves none for a new version, which begins below all others: raise it", from.Pos, from.Dir)
	}
	files := map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, modeline, "../../", "version")
	fmt.Fprintf(&b, "openapi: 3.0.3\ninfo: {title: %s/%s, version: unversioned}\npaths: {}\n\nx-cluster-group:\n  name: %s\n  groupPriority: %d\n  versionPriority: %d\n\nx-cluster-resources:\n", from.Group, version, from.Group, from.GroupPriority, priority)
	inOrder := slices.SortedFunc(slices.Values(from.Resources), func(a, b *model.Resource) int { return a.Pos.Line - b.Pos.Line })
	for _, r := range inOrder {
		if r.Action != nil {
			continue
		}
		scope := "Cluster"
		if r.Namespaced {
			scope = "Namespaced"
		}
		stored := r
		if r.StoredAs != nil {
			stored = r.StoredAs
		}
		fmt.Fprintf(&b, "  %s:\n    kind: %s\n    scope: %s\n", r.Plural, r.Kind, scope)
		if len(r.ShortNames) > 0 {
			fmt.Fprintf(&b, "    shortNames: [%s]\n", strings.Join(r.ShortNames, ", "))
		}
		if len(r.Categories) > 0 {
			fmt.Fprintf(&b, "    categories: [%s]\n", strings.Join(r.Categories, ", "))
		}
		if r.Stored {
			fmt.Fprintf(&b, "    storedAs: %s/%s\n", stored.GV.Dir, r.Kind)
		} else {
			fmt.Fprintf(&b, "    endpoint: %s\n", r.Endpoint)
		}
		if r.HasStatus {
			b.WriteString("    subresources:\n      status: {}\n")
			for _, sub := range r.Subresources {
				if sub.Name == "scale" {
					fmt.Fprintf(&b, "      scale: {specReplicas: %s, statusReplicas: %s%s}\n", sub.SpecReplicas, sub.StatusReplicas,
						strings.TrimSuffix(", selector: "+sub.Selector, ", selector: "))
				}
			}
		}
		files["schemas/"+dir+"/"+r.Kind+".yaml"] = fmt.Sprintf(modeline, "../../../", "schema") + "x-cluster-same-as: /" + r.Type.GV.Dir + "/" + r.Kind + "\n"
	}
	files["openapi/"+dir+".yaml"] = b.String()
	return files, nil
}
