package emit

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// packages type-checks emitted packages against each other.
type packages struct {
	fset    *token.FileSet
	files   map[string][]*ast.File // by import path
	checked map[string]*gotypes.Package
	library gotypes.ImporterFrom // all others, from their source

	instances map[*ast.Ident]gotypes.Instance // of generic types and functions
}

func (p *packages) Import(name string) (*gotypes.Package, error) {
	if pkg := p.checked[name]; pkg != nil {
		return pkg, nil
	}
	files := p.files[name]
	if files == nil {
		return p.library.ImportFrom(name, ".", 0)
	}
	pkg, err := (&gotypes.Config{Importer: p}).Check(name, p.fset, files, &gotypes.Info{Instances: p.instances})
	p.checked[name] = pkg
	return pkg, err
}

// TestEmittedGoCompiles type-checks the types and the client.
func TestEmittedGoCompiles(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output() // a program with trimmed paths does not know it
	if err != nil {
		t.Fatal(err)
	}
	build.Default.GOROOT = strings.TrimSpace(string(goroot))
	fset := token.NewFileSet()
	p := &packages{fset: fset, files: map[string][]*ast.File{}, checked: map[string]*gotypes.Package{}, instances: map[*ast.Ident]gotypes.Instance{}, library: importer.ForCompiler(fset, "source", nil).(gotypes.ImporterFrom)}
	for _, dir := range []string{"value", "client"} {
		sources, err := filepath.Glob("../../../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range sources {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.files[module+"/"+dir] = append(p.files[module+"/"+dir], f)
		}
	}
	for _, emit := range []func(*model.Model) ([]File, error){Types, Client} {
		for name, data := range emitted(t, emit) {
			f, err := parser.ParseFile(fset, name, data, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			name = module + "/gen/" + path.Dir(name)
			p.files[name] = append(p.files[name], f)
		}
	}
	for name := range p.files {
		if _, err := p.Import(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	typed := 0
	for at, instance := range p.instances {
		if path.Dir(fset.Position(at.Pos()).Filename) != "client" {
			continue
		}
		for arg := range instance.TypeArgs.Types() {
			typed++
			if _, ok := arg.(*gotypes.Pointer); !ok {
				t.Errorf("%s: %s has the argument %s; want pointers, of whose code the compiler makes one copy", fset.Position(at.Pos()), at.Name, arg)
			}
		}
	}
	if typed == 0 {
		t.Error("the client has no type arguments")
	}
}

func TestTypesAndClientAreDeterministic(t *testing.T) {
	for _, emit := range []func(*model.Model) ([]File, error){Types, Client} {
		a, b := emitted(t, emit), emitted(t, emit)
		for name := range a {
			if !bytes.Equal(a[name], b[name]) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	}
}

var spaces = regexp.MustCompile(`[ \t]+`)

func TestEmittedGo(t *testing.T) {
	files := emitted(t, Types)
	for name, data := range emitted(t, Client) {
		files[name] = data
	}
	for _, c := range []struct{ file, want string }{
		{"core/v1/types.go", "package corev1"},
		{"core/v1/types.go", "// Container: One container of a pod.\ntype Container struct {\n // Name of the container.\n Name string `json:\"name\"`"},
		{"core/v1/types.go", "Ports []ContainerPort `json:\"ports,omitempty\"`"},
		{"core/v1/types.go", "TTY bool `json:\"tty,omitempty\"`"},
		{"core/v1/types.go", "HostIPC bool `json:\"hostIPC,omitempty\"`"},
		{"core/v1/types.go", "Priority *int32 `json:\"priority,omitempty\"`"},
		{"core/v1/types.go", "// Priority of the pod, a text that is long enough to be wrapped when it becomes a comment of a Go\n // field.\n Priority"},
		{"core/v1/types.go", "Overhead map[string]value.Quantity `json:\"overhead,omitempty\"`"},
		{"core/v1/types.go", "Metadata metav1.ObjectMeta `json:\"metadata\"`"},
		{"core/v1/types.go", "Spec PodSpec `json:\"spec\"`"},
		{"core/v1/types.go", "Empty *Empty `json:\"empty,omitempty\"`"},
		{"core/v1/types.go", "type Empty struct{}"},
		{"core/v1/types_kinds.go", "func (x *Pod) GetResourceVersion() string { return x.Metadata.ResourceVersion }"},
		{"core/v1/types_constants.go", "// The values of ContainerPort.protocol.\nconst (\n ContainerPortProtocolSCTP = \"SCTP\"\n"},
		{"core/v1/types_kinds.go", `func (x *Pod) SetKind() { x.Kind, x.APIVersion = "Pod", "v1" }`},
		{"core/v1/types_kinds.go", "func (x *Pod) GetName() string { return x.Metadata.Name }"},
		{"meta/v1/types.go", "CreationTimestamp value.Time `json:\"creationTimestamp\"`"},
		{"meta/v1/types.go", "FieldsV1 value.Raw `json:\"fieldsV1,omitempty\"`"},
		{"meta/v1/types.go", "type TableObject struct"},
		{"meta/v1/types_kinds.go", `func (x *TableObject) SetKind() { x.Kind, x.APIVersion = "Table", "v1" }`},
		{"apps/v1/types.go", "Spec *DeploymentSpec `json:\"spec,omitempty\"`"},
		{"apps/v1/types.go", "Template *corev1.PodSpec `json:\"template,omitempty\"`"},
		{"apps/v1/types.go", "MaxSurge *value.IntOrString `json:\"maxSurge,omitempty\"`"},
		{"apps/v1/types.go", "Data []byte `json:\"data,omitempty\"`"},
		{"apps/v1/types_kinds.go", `"Deployment", "apps/v1"`},
		{"authentication/v1/types.go", "TTL value.Duration `json:\"ttl,omitzero\"`"},
		{"client/client.go", "func (c *Client) AppsV1() AppsV1"},
		{"client/corev1.go", "func (g CoreV1) Pods(namespace string) *client.Resource[*corev1.Pod]"},
		{"client/corev1.go", "of kind Node.\n//\n// Deprecated: since 1.19, use v2 Node.\nfunc (g CoreV1) Nodes()"},
		{"client/corev1.go", "func (g CoreV1) Nodes() *client.Resource[*corev1.Node]"},
		{"client/corev1.go", "func (g CoreV1) Bindings(namespace string) client.Creator[*corev1.Binding]"},
		{"client/corev1.go", "func (g CoreV1) PodBinding(namespace string) *client.Subresource[*corev1.Binding]"},
		{"client/corev1.go", "func (g CoreV1) PodToken(namespace string) *client.Subresource[*authenticationv1.TokenRequest]"},
	} {
		if !strings.Contains(spaces.ReplaceAllString(string(files[c.file]), " "), c.want) {
			t.Errorf("%s does not contain\n%s", c.file, c.want)
		}
	}
	if strings.Contains(string(files["client/corev1.go"]), "PodLog") || strings.Contains(string(files["client/corev1.go"]), "PodStatus") {
		t.Error("the client has accessors for subresources without a kind of their own")
	}
}

func TestGoName(t *testing.T) {
	for name, want := range map[string]string{
		"apiVersion": "APIVersion", "clusterIP": "ClusterIP", "fsType": "FSType", "hostIPC": "HostIPC", "httpGet": "HTTPGet",
		"podIPs": "PodIPs", "seLinuxOptions": "SELinuxOptions", "ip": "IP", "uid": "UID", "awsElasticBlockStore": "AWSElasticBlockStore",
		"iscsi": "ISCSI", "cephfs": "CephFS", "name": "Name", "ipFamilies": "IPFamilies", "ID": "ID", "": "",
	} {
		if got := goName(name); got != want {
			t.Errorf("goName(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"one", "one"}, {"one two", "one\ntwo"}, {"a b c d", "a b\nc d"}, {"longword x", "longword\nx"}, {"a\nb c", "a\nb c"},
	} {
		if got := wrap(c.in, 3); got != c.want {
			t.Errorf("wrap(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFieldForm(t *testing.T) {
	for _, c := range []struct {
		presence string
		required bool
		shape    shape
		pointer  bool
		options  string
	}{
		{"", false, shapeScalar, false, ",omitempty"},
		{"", true, shapeScalar, false, ""},
		{"explicit", false, shapeScalar, true, ",omitempty"},
		{"always", false, shapeScalar, false, ""},
		{"", false, shapeStruct, true, ",omitempty"},
		{"always", false, shapeStruct, false, ""},
		{"", false, shapeNilable, false, ",omitempty"},
		{"explicit", false, shapeNilable, false, ",omitzero"},
		{"", true, shapeNilable, false, ""},
		{"", false, shapeValue, false, ",omitzero"},
		{"explicit", false, shapeValue, true, ",omitempty"},
	} {
		pointer, options := fieldForm(c.presence, c.required, c.shape)
		if pointer != c.pointer || options != c.options {
			t.Errorf("%+v: got %t, %q", c, pointer, options)
		}
	}
}

// TestObjectInPlace: an object without a name of its own becomes a type named
// after its place.
func TestObjectInPlace(t *testing.T) {
	m := testModel()
	pod := m.GroupVersions[2].Types[3]
	inner := object1("Described in place.", field("x", text("X.")))
	pod.Schema.Properties = append(pod.Schema.Properties, schema.Property{Name: "extra", Schema: inner},
		field("rows", schema.Schema{Type: "array", Items: inner, Description: "Rows."}))
	files, err := Types(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path != "core/v1/types.go" {
			continue
		}
		for _, want := range []string{"Extra *PodExtra `json", "type PodExtra struct {", "Rows []PodRows `json", "type PodRows struct {"} {
			if !strings.Contains(spaces.ReplaceAllString(string(f.Data), " "), want) {
				t.Errorf("no %s in\n%s", want, f.Data)
			}
		}
	}
	other := *pod
	other.Name = "PodExtra"
	m.GroupVersions[2].Types = append(m.GroupVersions[2].Types, &other)
	if _, err := Types(m); err == nil || !strings.Contains(err.Error(), "PodExtra is declared twice") {
		t.Errorf("two types with one name: %v", err)
	}
}

// Fields that clash in Go, or have no name there, are reported with their place.
func TestGoFieldClashes(t *testing.T) {
	field := func(name, as string) schema.Property {
		return schema.Property{Name: name, Pos: schema.Position{File: "x.yaml", Line: 7}, Schema: &schema.Schema{Goname: as}}
	}
	for _, c := range []struct {
		fields []schema.Property
		want   string
	}{
		{[]schema.Property{field("size", ""), field("Size", "")}, "x.yaml:7: the field Size has the name Size in Go, as size does; rename it, or add x-cluster-go-name"},
		{[]schema.Property{field("size", ""), field("Size", "Extent")}, ""},
		{[]schema.Property{field("shoe.size", "")}, "x.yaml:7: the field shoe.size would be Shoe.size in Go, which is not a name there; write a name in camelCase, or add x-cluster-go-name"},
	} {
		named, got := map[string]string{}, ""
		for _, f := range c.fields {
			if err := checkGoField(f, named); err != nil {
				got = err.Error()
			}
		}
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
