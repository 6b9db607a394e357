package imports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// priority orders versions as clients do: stable ones first, then by number.
func priority(version string) int {
	major, minor, stage := 0, 0, 300
	if n, _ := fmt.Sscanf(version, "v%dalpha%d", &major, &minor); n == 2 {
		stage = 100
	} else if n, _ := fmt.Sscanf(version, "v%dbeta%d", &major, &minor); n == 2 {
		stage = 200
	}
	return stage*100 + min(major, 99)*100 + min(minor, 99)
}

// group is the list of resources of a group version, in its document, which is made if the
// project has none.
func (r *result) group(file, group, dir string) mapping {
	name := "openapi/" + dir + ".yaml"
	root := r.roots[name]
	if root.Node == nil {
		root = r.readGroup(name)
	}
	if root.Node == nil {
		root = newMapping(1)
		version := dir[strings.LastIndexByte(dir, '/')+1:]
		root.text("openapi", "3.0.3", 1)
		info := newMapping(1)
		info.Style = yaml.FlowStyle
		info.text("title", group+"/"+version, 1)
		info.text("version", "unversioned", 1)
		root.set("info", info.Node)
		paths := newMapping(1)
		paths.Style = yaml.FlowStyle
		root.set("paths", paths.Node)
		head := newMapping(1)
		head.set("name", textNode(group, 1))
		head.yes("imported", 1)
		head.number("groupPriority", 1000, 1)
		head.number("versionPriority", priority(version), 1)
		root.set("x-cluster-group", head.Node)
		root.set("x-cluster-resources", newMapping(1).Node)
	}
	r.roots[name], r.files[name] = root, file
	return mapping{root.get("x-cluster-resources")}
}

// readGroup reads the document of a group version in the project; nothing without one, or
// one that will be replaced.
func (r *result) readGroup(name string) mapping {
	text, err := os.ReadFile(filepath.Join(r.Root, filepath.FromSlash(name)))
	var doc yaml.Node
	if err != nil || yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return mapping{}
	}
	root := mapping{doc.Content[0]}
	if resources := root.get("x-cluster-resources"); resources == nil || resources.Kind != yaml.MappingNode {
		return mapping{}
	}
	r.merged[name] = true
	return root
}
