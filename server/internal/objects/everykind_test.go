package objects_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// TestEveryKind runs all operations on an example of every kind, in every version: no
// kind is special.
func TestEveryKind(t *testing.T) {
	h := harness.Start(t, withEverything)
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if !res.Stored || !res.Verbs.Has(api.VerbCreate|api.VerbDelete) {
				continue
			}
			t.Run(strings.ReplaceAll(gv.APIVersion(), "/", "_")+"_"+res.Plural, func(t *testing.T) {
				sub := *h
				sub.T = t
				(&life{Server: &sub, res: res}).live()
			})
		}
	}
}

// TestEveryKindHasBookmarkRows: a bookmark has little more than a revision, and is a row in a
// table of its kind all the same.
func TestEveryKindHasBookmarkRows(t *testing.T) {
	h := harness.Start(t, withEverything)
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if !res.Stored || !res.Verbs.Has(api.VerbWatch) {
				continue
			}
			path := "/apis/" + gv.APIVersion() + "/" + res.Plural
			if gv.Group == "" {
				path = "/api/v1/" + res.Plural
			}
			s := h.Watch(path+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&labelSelector=no%3Dobject", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
			if e := s.Next(); e.Type != "BOOKMARK" || !strings.Contains(string(e.Object), `"kind":"Table"`) || !strings.Contains(string(e.Object), `"rows":[{`) {
				t.Errorf("%s: %s %s", path, e.Type, e.Object)
			}
		}
	}
}

// withEverything serves all versions, and keeps the fields of all features.
func withEverything(c *server.Config) {
	c.RuntimeConfig = []string{"api/all"}
	c.FeatureGates = []string{"AllAlpha=true", "AllBeta=true", "DynamicKubeletConfig=true"}
	harness.Shorten(c, func(d *seams.Durations) { d.ExtensionServers.Check = 0 }) // its writes come between those of the test
}

// life is the life of one object.
type life struct {
	*harness.Server
	res        *api.Resource
	namespace  string
	name       string
	collection string
	object     string
	full       *fullLife // of an object with every member; nil for an example
}

type fields = map[string]any

// example is the first example of the kind.
func (l *life) example() fields {
	l.T.Helper()
	dir := cmp.Or(strings.TrimSuffix(l.res.GV.Group, "."+profile.GroupSuffix), "core")
	var files []string
	var err error
	for found := true; len(files) == 0 && found; { // the folder of a group has its name without the end
		files, err = filepath.Glob(filepath.Join("..", "..", "..", "schemas", "examples", "valid", dir, l.res.GV.Version, l.res.Kind+"-*.yaml"))
		at := max(strings.LastIndexByte(dir, '.'), 0)
		dir, found = dir[:at], at > 0
	}
	if err != nil || len(files) == 0 {
		l.T.Fatalf("%s has no valid example: %v", l.res.Kind, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		l.T.Fatal(err)
	}
	var obj fields
	if err := yaml.Unmarshal(text, &obj); err != nil {
		l.T.Fatal(err)
	}
	meta := obj["metadata"].(fields)
	l.namespace, _ = meta["namespace"].(string)
	if l.res.Plural == "namespaces" {
		meta["name"] = "of-its-own" // other tests use the example's name
	}
	l.name = meta["name"].(string)
	return obj
}

// ask sends a request that must be answered with the code.
func (l *life) ask(code int, method, path, contentType string, body any, header ...string) harness.Reply {
	l.T.Helper()
	text, ok := body.([]byte)
	if !ok && body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			l.T.Fatal(err)
		}
	}
	got := l.Send(method, path, contentType, text, header...)
	if got.Code != code {
		l.T.Fatalf("%s %s as %s: %d, want %d: %s\nsent %s", method, path, contentType, got.Code, code, got.Body, text)
	}
	return got
}

func read(t *testing.T, text []byte) fields {
	t.Helper()
	var obj fields
	if err := json.Unmarshal(text, &obj); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return obj
}

func (l *life) live() {
	t := l.T
	var obj fields
	if l.full == nil {
		obj = l.example()
	} else {
		obj = l.filled()
	}
	l.collection = l.res.GV.Prefix() + "/" + l.res.Plural
	if l.res.Namespaced {
		l.Send("POST", "/api/v1/namespaces", "application/json", []byte(`{"metadata":{"name":"`+l.namespace+`"}}`))
		l.collection = l.res.GV.Prefix() + "/namespaces/" + l.namespace + "/" + l.res.Plural
	}
	l.object = l.collection + "/" + l.name
	has := l.res.Verbs.Has

	tried := l.ask(http.StatusCreated, "POST", l.collection+"?dryRun=All", "application/json", obj).Body
	l.ask(http.StatusNotFound, "GET", l.object, "", nil)
	obj["wrong"] = true
	l.ask(http.StatusBadRequest, "POST", l.collection+"?fieldValidation=Strict", "application/json", obj)
	delete(obj, "wrong")
	before := read(t, l.ask(http.StatusOK, "GET", l.collection+"?limit=1", "", nil).Body)["metadata"].(fields)["resourceVersion"].(string)
	if l.full != nil {
		l.full.tried = tried
		l.full.applied = l.ask(http.StatusCreated, "PATCH", l.object+"?dryRun=All&fieldManager=everykind", "application/apply-patch+yaml", obj).Body
	}
	created := l.ask(http.StatusCreated, "POST", l.collection, "application/json", obj).Body
	meta := read(t, created)["metadata"].(fields)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		if meta[field] == nil {
			t.Errorf("a new object has no metadata.%s: %s", field, created)
		}
	}
	if l.res.Plural == "customresourcedefinitions" { // the server writes once more
		l.watched(before, func(obj fields) bool { return len(obj["status"].(fields)["acceptedNames"].(fields)) > 2 })
		created = l.Get(l.object).Body
	}
	l.forms(created)
	if has(api.VerbWatch) {
		l.watched(before, func(fields) bool { return true })
	}
	l.changes()
	if l.full != nil {
		l.whole(obj, created)
	}

	l.ask(http.StatusOK, "DELETE", l.object+"?dryRun=All", "", nil)
	l.ask(http.StatusOK, "GET", l.object, "", nil)
	if got := l.Send("DELETE", l.object+"?gracePeriodSeconds=0", "", nil); got.Code != http.StatusOK && got.Code != http.StatusAccepted {
		t.Fatalf("delete: %d %s", got.Code, got.Body)
	}
	if got := l.Get(l.object); got.Code == http.StatusOK && read(t, got.Body)["metadata"].(fields)["deletionTimestamp"] == nil {
		t.Errorf("it is still there: %s", got.Body)
	}
	if l.full != nil {
		l.gone()
	}
}

// anyAge finds ages, which differ between two answers.
var anyAge = regexp.MustCompile(`([0-9]+[smhdy])+`)

// forms reads the object in every representation, some twice: the second answer is made of
// what the server has kept.
func (l *life) forms(created []byte) {
	t := l.T
	if got := l.Get(l.object); !bytes.Equal(got.Body, created) {
		t.Errorf("GET gives\n%s\nand the answer to the create was\n%s", got.Body, created)
	}
	asYAML := l.ask(http.StatusOK, "GET", l.object, "", nil, "Accept", "application/yaml")
	text, err := yaml.YAMLToJSON(asYAML.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(read(t, text)), fmt.Sprint(read(t, created)); got != want {
		t.Errorf("as YAML it is\n%s\nwant\n%s", got, want)
	}
	for form, kind := range map[string]string{"Table": "Table", "PartialObjectMetadata": "PartialObjectMetadata"} {
		got := read(t, l.ask(http.StatusOK, "GET", l.object, "", nil, "Accept", "application/json;as="+form+";v=v1;g=meta."+profile.GroupSuffix).Body)
		if got["kind"] != kind {
			t.Errorf("as %s it is a %v", form, got["kind"])
		}
		if form != "Table" {
			continue
		}
		rows := got["rows"].([]any)
		if cells := rows[0].(fields)["cells"].([]any); len(cells) != len(l.res.Storage().Columns) || fmt.Sprint(cells[0]) == "" {
			t.Errorf("a row has the cells %v for %d columns", cells, len(l.res.Storage().Columns))
		}
	}
	list := read(t, l.ask(http.StatusOK, "GET", l.collection+"?fieldSelector=metadata.name="+l.name, "", nil).Body)
	if items := list["items"].([]any); list["kind"] != l.res.ListKind || len(items) != 1 {
		t.Errorf("the list is a %v of %d", list["kind"], len(items))
	}
	const binary = "application/vnd.kubernetes.protobuf"
	const table = "application/json;as=Table;v=v1;g=meta." + profile.GroupSuffix
	for _, read := range []struct{ path, accept string }{{l.object, binary}, {l.collection, binary}, {l.collection, table}, {l.collection + "?includeObject=Object", table}} {
		answer := func() []byte {
			return anyAge.ReplaceAll(l.ask(http.StatusOK, "GET", read.path, "", nil, "Accept", read.accept).Body, nil)
		}
		made, kept := answer(), answer()
		for try := 0; try < 3 && !bytes.Equal(made, kept); try++ { // another object's write moves a list's revision
			made, kept = kept, answer()
		}
		if !bytes.Equal(made, kept) {
			t.Errorf("%s as %s was\n%q\nand then\n%q", read.path, read.accept, made, kept)
		}
	}
	raw := l.ask(http.StatusOK, "GET", l.object, "", nil, "Accept", binary)
	if l.res.Verbs.Has(api.VerbUpdate) {
		if got := l.ask(http.StatusOK, "PUT", l.object, binary, raw.Body); !bytes.Equal(got.Body, created) {
			t.Errorf("what went out in the binary form came back as\n%s\nit was\n%s", got.Body, created)
		}
	}
}

// watched reads the events of the object, its creation first, until last accepts one.
func (l *life) watched(since string, last func(fields) bool) {
	l.T.Helper()
	req, err := http.NewRequest("GET", l.Running.URL()+l.collection+"?watch=1&timeoutSeconds=20&resourceVersion="+since+"&fieldSelector=metadata.name="+l.name, nil)
	if err != nil {
		l.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	resp, err := l.HTTP.Do(req)
	if err != nil {
		l.T.Fatal(err)
	}
	defer resp.Body.Close()
	events := bufio.NewReader(resp.Body)
	for want := "ADDED"; ; want = "MODIFIED" {
		line, err := events.ReadBytes('\n')
		if err != nil {
			l.T.Fatal(err)
		}
		event := read(l.T, line)
		obj := event["object"].(fields)
		if event["type"] != want || obj["kind"] != l.res.Kind || obj["apiVersion"] != l.res.GV.APIVersion() {
			l.T.Errorf("the event is %.300s, want %s", line, want)
		}
		if last(obj) {
			return
		}
	}
}

// changes writes the object by every verb.
func (l *life) changes() {
	t := l.T
	label := func(obj fields, name string) string {
		labels, _ := obj["metadata"].(fields)["labels"].(fields)
		text, _ := labels[name].(string)
		return text
	}
	if l.res.Verbs.Has(api.VerbPatch) {
		patches := map[string]any{
			"application/merge-patch+json":           fields{"metadata": fields{"labels": fields{"one": "a"}}},
			"application/strategic-merge-patch+json": fields{"metadata": fields{"labels": fields{"two": "b"}}},
			"application/json-patch+json":            []fields{{"op": "add", "path": "/metadata/labels/three", "value": "c"}},
			"application/apply-patch+yaml": fields{"apiVersion": l.res.GV.APIVersion(), "kind": l.res.Kind,
				"metadata": fields{"name": l.name, "labels": fields{"four": "d"}}},
		}
		var last fields
		for _, media := range []string{"application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml"} {
			last = read(t, l.ask(http.StatusOK, "PATCH", l.object+"?fieldManager=everykind", media, patches[media]).Body)
		}
		for name, want := range map[string]string{"one": "a", "two": "b", "three": "c", "four": "d"} {
			if got := label(last, name); got != want {
				t.Errorf("after all patches the label %s is %q, want %s", name, got, want)
			}
		}
	}
	if !l.res.Verbs.Has(api.VerbUpdate) {
		return
	}
	obj := read(t, l.Get(l.object).Body)
	meta := obj["metadata"].(fields)
	meta["labels"] = fields{"five": "e"}
	if got := read(t, l.ask(http.StatusOK, "PUT", l.object, "application/json", obj).Body); label(got, "five") != "e" || label(got, "one") != "" {
		t.Errorf("the update made the labels %v", got["metadata"].(fields)["labels"])
	}
	meta["labels"] = fields{"six": "f"}
	l.ask(http.StatusConflict, "PUT", l.object, "application/json", obj)
	meta["resourceVersion"] = read(t, l.Get(l.object).Body)["metadata"].(fields)["resourceVersion"]
	if got := read(t, l.ask(http.StatusOK, "PUT", l.object+"?dryRun=All", "application/json", obj).Body); label(got, "six") != "f" {
		t.Errorf("the dry run made the labels %v", got["metadata"].(fields)["labels"])
	}
	if got := read(t, l.Get(l.object).Body); label(got, "six") != "" {
		t.Error("the dry run was stored")
	}
}
