package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"regexp"
	"strings"
)

// staging are the modules that are published with k8s.io/kubernetes, and have types or gates.
var staging = []string{"api", "apimachinery", "apiextensions-apiserver", "kube-aggregator", "apiserver"}

// release is the published source of a release.
type release struct {
	server *zip.ReadCloser
	others []*zip.ReadCloser
}

func openRelease(number string) (*release, error) {
	server, err := module("k8s.io/kubernetes@v" + number)
	if err != nil {
		return nil, err
	}
	r := &release{server: server}
	for _, name := range staging {
		other, err := module("k8s.io/" + name + "@v0." + strings.TrimPrefix(number, "1."))
		if err != nil {
			r.close()
			return nil, err
		}
		r.others = append(r.others, other)
	}
	return r, nil
}

func (r *release) close() {
	for _, z := range append(r.others, r.server) {
		_ = z.Close()
	}
}

func module(name string) (*zip.ReadCloser, error) {
	out, err := exec.Command("go", "mod", "download", "-json", name).Output()
	var found struct{ Zip, Error string }
	if jsonErr := json.Unmarshal(out, &found); jsonErr != nil || found.Error != "" {
		return nil, fmt.Errorf("module %s: %v %s", name, err, found.Error)
	}
	return zip.OpenReader(found.Zip)
}

// gateFiles are the files with the feature gates of a module.
const gateFiles = `/pkg/features/[a-z_]*features?\.go$`

// read finds the rows of all tables in the source of a release.
func (r *release) read() (map[string][]string, error) {
	found := map[string][]string{}
	numbers, structs := map[string]map[string]string{}, structures{} // of fields, by type
	gates := map[string]string{}
	for _, other := range append(r.others, r.server) {
		names := map[string]string{} // of gates, by their constants, which may be in another file of the module
		if err := errors.Join(
			eachFile(other, `/generated\.proto$`, func(dir string, text []byte) { readNumbers(dir, text, numbers) }),
			eachFile(other, `/(\w*types\w*|namedresources)\.go$|/apis/meta/v1/\w+\.go$`, structs.read),
			eachFile(other, `/zz_generated\.prerelease-lifecycle\.go$`, func(dir string, text []byte) {
				found["lifecycles"] = append(found["lifecycles"], readLifecycles(dir, text)...)
			}),
			eachFile(other, gateFiles, func(_ string, text []byte) { readGateNames(text, names) }),
			eachFile(other, gateFiles, func(_ string, text []byte) { readGates(text, names, gates) })); err != nil {
			return nil, err
		}
	}
	for gate, rest := range gates {
		found["gates"] = append(found["gates"], gate+"\t"+rest)
	}
	var failure error
	err := eachFile(r.server, `/api/openapi-spec/swagger\.json$`, func(_ string, text []byte) {
		var doc openAPI
		if failure = json.Unmarshal(text, &doc); failure == nil {
			found["fields"], found["resources"] = doc.fields(numbers, structs), doc.resources()
		}
	})
	return found, errors.Join(err, failure)
}

// eachFile visits the files of a module whose path matches, with the path of their folder below the module's.
func eachFile(in *zip.ReadCloser, pattern string, visit func(dir string, text []byte)) error {
	match := regexp.MustCompile(pattern)
	for _, f := range in.File {
		_, name, _ := strings.Cut(f.Name, "@")
		_, name, _ = strings.Cut(name, "/")
		if !match.MatchString("/" + name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil {
			return err
		}
		visit(path.Dir(name), text)
	}
	return nil
}
