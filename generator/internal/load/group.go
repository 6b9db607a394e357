package load

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// versionName is v1, v2beta3 or v1alpha1.
var versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)

// groupFile reads one openapi/<group>/<version>.yaml.
func (d *documents) groupFile(name string, n node, text []byte) {
	dir := strings.TrimSuffix(strings.TrimPrefix(name, "openapi/"), ".yaml")
	_, version, _ := strings.Cut(dir, "/")
	if strings.Count(dir, "/") != 1 || !versionName.MatchString(version) {
		d.fail(n.pos(), "move it to openapi/<group>/<version>.yaml, with a version like v1 or v1beta2", "the file's path does not say a group and a version")
		return
	}
	found := len(d.errs)
	gv := d.group(dir)
	gv.Pos, gv.Served = n.pos(), true
	if !d.wellFormed(n, "version") {
		return
	}
	d.object(n, d.documentKeys(gv))
	if len(d.errs) == found {
		d.validOpenAPI(name, text)
	}
}

func (d *documents) groupBlock(n node, gv *model.GroupVersion) {
	listed, on := true, stabilityOf(gv.Version) != "alpha"
	d.object(n, d.groupKeys(gv, &listed, &on))
	gv.Unlisted, gv.Off = !listed, !on
	gv.Stability = cmp.Or(gv.Stability, stabilityOf(gv.Version))
	folder, _, _ := strings.Cut(gv.Dir, "/")
	switch {
	case gv.Group == "" && folder == "core" || gv.Group == folder || strings.HasPrefix(gv.Group, folder+".") && domainName.MatchString(gv.Group):
	default:
		d.fail(n.pos(), "name it after the folder: "+folder+" or "+folder+".<groupSuffix>; only core is \"\"",
			"the group %q does not belong in openapi/%s", gv.Group, folder)
	}
	if want := stabilityOf(gv.Version); gv.Stability != "" && gv.Stability != want {
		d.fail(n.pos(), "write "+want+", or rename the version", "the version %s is %s, not %s", gv.Version, want, gv.Stability)
	}
}

// documentKeys reads the keys of a group version's document. validOpenAPI checks the others.
func (d *documents) documentKeys(gv *model.GroupVersion) map[string]func(node) {
	skip := func(node) {}
	return map[string]func(node){
		"openapi": skip, "info": skip, "paths": skip, "components": skip, "tags": skip, "servers": skip, "externalDocs": skip, "security": skip,
		"x-cluster-group": func(n node) { d.groupBlock(n, gv) },
		"x-cluster-resources": func(n node) {
			for _, e := range d.entries(n) {
				d.resource(e, gv)
			}
		},
	}
}

func (d *documents) groupKeys(gv *model.GroupVersion, listed, on *bool) map[string]func(node) {
	return map[string]func(node){
		"listed": d.boolean(listed), "onByDefault": d.boolean(on), "imported": d.boolean(&gv.Imported), "name": d.text(&gv.Group), "stability": d.text(&gv.Stability),
		"lifecycle":     d.readLifecycle(&gv.Lifecycle),
		"groupPriority": d.integer(&gv.GroupPriority), "versionPriority": d.integer(&gv.VersionPriority),
	}
}

// stabilityOf is the stability that the name of a version promises.
func stabilityOf(version string) string {
	switch {
	case strings.Contains(version, "alpha"):
		return "alpha"
	case strings.Contains(version, "beta"):
		return "beta"
	}
	return "stable"
}

// validOpenAPI checks that the document is OpenAPI.
func (r *reader) validOpenAPI(name string, text []byte) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(text)
	if err == nil {
		err = doc.Validate(loader.Context)
	}
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n")
		r.fail(schema.Position{File: name, Line: 1}, "fix what is not in an x-cluster- block", "not a valid OpenAPI 3 document: %s", what)
	}
}
