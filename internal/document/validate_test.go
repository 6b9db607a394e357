package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/schema"
)

const rules = `
type Thing
  name string always required
  spec Spec always
  phase Phase
  state Phase always
  level Level explicit
  ratio Ratio explicit
  cpu Cpu explicit
  code Code explicit
  short Short explicit
  label Label explicit
  tport Target explicit
  port PortNumber explicit
  ports Ports
  pairs Pairs
  set Set
  plain Plain
  count Count
  must Must explicit required
  list []Phase required
  table map:Phase
  limits Limits
  ready bool always required
  number int32 always required
  since time always required
  ref Ref explicit required
type Spec
  boxes []Box always required
  other Box explicit
type Box
  name Name always required
type Ref
  a string
type Must
  a string
scalar Phase string enum=Running,Done
scalar Level int32 min=0 max=10
scalar Ratio number above=0 below=1
scalar Cpu quantity min=0
scalar Code string pattern=^[a-z]+$
scalar Short string minlen=2 maxlen=3
scalar Label string format=label-value
scalar Name string format=dns1123-label
scalar Target intorstring format=port-number min=1 max=65535
scalar PortNumber int32 format=port-number
scalar Ports []Box keys=name unique
scalar Pairs []Pair keys=port,protocol unique
type Pair
  port int32
  protocol string
scalar Set []string set unique
scalar Plain []string
scalar Count []int32 minitems=2 maxitems=3
scalar Limits map:string maxitems=1
`

func TestValidate(t *testing.T) {
	table := parseTable(t, rules)
	dec := Decoder{Table: table}
	const fine = `"name":"n","spec":{"boxes":[{"name":"b"}]},"must":{},"list":["Done"],"ready":false,"number":0,"since":"2022-01-02T03:04:05Z","ref":{}`
	long := strings.Repeat("x", 9000)
	for _, c := range []struct {
		name, in string
		want     []string // reason field: message
	}{
		{"fine", fine, nil},
		{"required", ``, []string{
			"FieldValueRequired name: Required value",
			"FieldValueRequired spec.boxes: Required value",
			"FieldValueRequired must: Required value",
			"FieldValueRequired list: Required value",
			"FieldValueRequired ready: Required value",
			"FieldValueRequired number: Required value",
			"FieldValueRequired since: Required value",
			"FieldValueRequired ref: Required value",
		}},
		{"empty is missing", fine + `,"name":"","list":[],"spec":{"boxes":[]}`, []string{
			"FieldValueRequired name: Required value",
			"FieldValueRequired spec.boxes: Required value",
			"FieldValueRequired list: Required value",
		}},
		{"inside", fine + `,"spec":{"boxes":[{"name":"b"},{},{"name":"B"}],"other":{}}`, []string{
			"FieldValueRequired spec.boxes[1].name: Required value",
			`FieldValueInvalid spec.boxes[2].name: Invalid value: "B": ` + CheckFormat("dns1123-label", "B")[0],
			"FieldValueRequired spec.other.name: Required value",
		}},
		{"enum", fine + `,"phase":"Runing"`, []string{`FieldValueNotSupported phase: Unsupported value: "Runing": supported values: "Running", "Done"`}},
		{"empty always string", fine + `,"state":""`, nil},
		{"enum in lists and maps", fine + `,"list":["Done","x"],"table":{"a.b/c":"y","d":"Done"}`, []string{
			`FieldValueNotSupported list[1]: Unsupported value: "x": supported values: "Running", "Done"`,
			`FieldValueNotSupported table[a.b/c]: Unsupported value: "y": supported values: "Running", "Done"`,
		}},
		{"bounds", fine + `,"level":-1,"ratio":1,"cpu":"-1m"`, []string{
			"FieldValueInvalid level: Invalid value: -1: must be greater than or equal to 0",
			"FieldValueInvalid ratio: Invalid value: 1: must be less than 1",
			`FieldValueInvalid cpu: Invalid value: "-1m": must be greater than or equal to 0`,
		}},
		{"other bounds", fine + `,"level":11,"ratio":0`, []string{
			"FieldValueInvalid level: Invalid value: 11: must be less than or equal to 10",
			"FieldValueInvalid ratio: Invalid value: 0: must be greater than 0",
		}},
		{"at the bounds", fine + `,"level":10,"ratio":0.5,"cpu":"0"`, nil},
		{"pattern", fine + `,"code":"a1"`, []string{`FieldValueInvalid code: Invalid value: "a1": must match the pattern ^[a-z]+$`}},
		{"too short", fine + `,"short":"é"`, []string{`FieldValueInvalid short: Invalid value: "é": must be at least 2 characters long`}},
		{"characters, not bytes", fine + `,"short":"ééé"`, nil},
		{"too long", fine + `,"short":"éééé"`, []string{`FieldValueTooLong short: Too long: must have at most 3 characters`}},
		{"long values are cut", fine + `,"code":"` + long + `1"`, []string{`FieldValueInvalid code: Invalid value: "` + long[:maxShown-1] + `…: must match the pattern ^[a-z]+$`}},
		{"format", fine + `,"label":"-"`, []string{`FieldValueInvalid label: Invalid value: "-": ` + CheckFormat("label-value", "-")[0]}},
		{"port numbers", fine + `,"port":0,"tport":70000`, []string{
			"FieldValueInvalid tport: Invalid value: 70000: must be less than or equal to 65535",
			"FieldValueInvalid tport: Invalid value: 70000: must be between 1 and 65535, inclusive",
			"FieldValueInvalid port: Invalid value: 0: must be between 1 and 65535, inclusive",
		}},
		{"port names", fine + `,"tport":"http"`, nil},
		{"wrong port name", fine + `,"tport":"1"`, []string{`FieldValueInvalid tport: Invalid value: "1": ` + CheckFormat("port-name", "1")[0]}},
		{"duplicate keys", fine + `,"ports":[{"name":"a"},{"name":"b"},{"name":"a"}]`, []string{`FieldValueDuplicate ports[2].name: Duplicate value: "a"`}},
		{"duplicate pairs", fine + `,"pairs":[{"port":1},{"port":1,"protocol":"x"},{"port":1},{},{}]`, []string{`FieldValueDuplicate pairs[2]: Duplicate value: {"port":1}`, `FieldValueDuplicate pairs[4]: Duplicate value: {}`}},
		{"duplicates in a set", fine + `,"set":["a","b","a","a"]`, []string{
			`FieldValueDuplicate set[2]: Duplicate value: "a"`, `FieldValueDuplicate set[3]: Duplicate value: "a"`}},
		{"duplicates elsewhere are fine", fine + `,"plain":["a","a"]`, nil},
		{"too few", fine + `,"count":[1]`, []string{"FieldValueInvalid count: Invalid value: 1: must have at least 2 items"}},
		{"too many", fine + `,"count":[1,2,3,4],"limits":{"a":"","b":""}`, []string{
			"FieldValueTooMany count: Too many: 4: must have at most 3 items",
			"FieldValueTooMany limits: Too many: 2: must have at most 1 items"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _, err := dec.Decode(table.Root("Thing"), []byte("{"+c.in+"}"))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Release()
			var got []string
			for _, cause := range Validate(d.Root(), nil) {
				got = append(got, fmt.Sprintf("%s %s: %s", cause.Reason, cause.Field, cause.Message))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestValidateCauses: documents name the fields in causes and the members that exclude
// each other.
func TestValidateCauses(t *testing.T) {
	table := parseTable(t, `
type Thing
  first Box explicit
  second Box explicit
  third Box explicit
  names []Name
  boxes []Box
  port Port always
  name Name always
type Box
  name Name always required
scalar Name string format=dns1123-label
scalar Port int32 format=port-number
`)
	root := &table.Types[table.Root("Thing")]
	root.OneOf = &schema.OneOf{Fields: []uint16{0, 1, 2}, Names: []string{"first", "zweite", ""}, What: "box", Required: true}
	for name, f := range map[string]func(*schema.Field){
		"names": func(f *schema.Field) { f.More = &schema.More{CauseList: true} },
		"boxes": func(f *schema.Field) { f.More = &schema.More{CauseList: true, CauseName: "/elsewhere.box"} },
		"port":  func(f *schema.Field) { f.ByRules = true },
		"name":  func(f *schema.Field) { f.ByRules, f.More = true, &schema.More{CauseName: "."} },
	} {
		f(&root.Fields[root.Field(name)])
	}
	box := &table.Types[table.Root("Box")]
	box.Fields[0].More = &schema.More{CauseName: "."}
	table.MakeIndex()
	const port, name = "FieldValueInvalid port", "FieldValueInvalid "
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", `{}`, []string{"FieldValueRequired ", port, name}},
		{"first", `{"first":{"name":"a"},"port":1,"name":"a"}`, nil},
		{"several", `{"first":{"name":"a"},"second":{},"third":{"name":"a"},"port":1,"name":"a"}`, []string{"FieldValueForbidden zweite"}},
		{"counted", `{"second":{"name":"a"},"third":{"name":"A"},"port":1,"name":"a"}`, []string{"FieldValueInvalid third"}},
		{"lists", `{"first":{"name":"a"},"port":1,"name":"a","names":["a","B"],"boxes":[{"name":"a"},{"name":"C"}]}`,
			[]string{"FieldValueInvalid names", "FieldValueInvalid elsewhere.box"}},
	} {
		d, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cause := range Validate(d.Root(), nil) {
			got = append(got, cause.Reason+" "+cause.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		d.Release()
	}
}

// TestValidateBounded: many mistakes below long names do not make a long answer.
func TestValidateBounded(t *testing.T) {
	table := parseTable(t, "type Thing\n  m map:List\nscalar List []Phase maxitems=1000000\nscalar Phase string enum=a")
	in := `{"m":{"` + strings.Repeat("k", 100_000) + `":[` + strings.Repeat(`"x",`, 5000) + `"x"]}}`
	d, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	size, causes := 0, Validate(d.Root(), nil)
	for _, c := range causes {
		size += len(c.Field) + len(c.Message)
	}
	if len(causes) != MaxCauses || size > 1<<20 {
		t.Errorf("%d causes with %d bytes", len(causes), size)
	}
}

// TestCheckFormat: accepted and refused strings of each format.
func TestCheckFormat(t *testing.T) {
	right := map[string][]string{
		"absolute-path": {"/", "/a"}, "cidr": {"10.0.0.0/8", "fd00::/8"}, "config-key": {"a.b_c-d"},
		"domain-name": {"a.b."}, "dns1035-label": {"a-1"}, "dns1123-label": {"1-a"}, "dns1123-subdomain": {"a.b-c.1"}, "domain-path": {"a.b/c"}, "driver-name": {"A.b"}, "host-name": {"a.b"}, "whole-quantity": {"1", "1000m", "1e3", "x"}, "wildcard-name": {"*.b", "a.b"},
		"env-var-name": {"A_b.c-1"}, "ip": {"10.0.0.1", "::1"}, "ordinary-ip": {"10.0.0.1", "fd00::1"}, "iscsi-name": {"x", "eui.0123456789abcdef"}, "label-value": {"", "a.b"}, "path-segment": {"a:b"},
		"file-path": {"a/b", "a.."}, "no-backsteps": {"/a/..b", "a"}, "relative-path": {"a", "..a", ""},
		"port-name": {"http-1"}, "port-number": {"1", "65535"}, "qualified-name": {"a", "b.c/d_E"}, "quota-resource": {"requests.cpu", "a.b/c"},
		"resource-name": {"cpu", "storage", "requests.hugepages-2Mi", "a.b/c"}, "schedule": {"@daily", "TZ=UTC 1-5,7 * * * mon", "@every 1h"}, "time-zone": {"Europe/Vienna", "UTC"},
	}
	wrong := map[string][]string{
		"absolute-path": {"", "a"}, "cidr": {"10.0.0.0", "x"}, "config-key": {"", "..", "a/b"},
		"domain-name": {"a..", "A", "."}, "dns1035-label": {"1a", ""}, "dns1123-label": {"A", "a.b", strings.Repeat("a", 64)}, "dns1123-subdomain": {"a..b", ""}, "domain-path": {"", "a.b", "/c"}, "driver-name": {"a_b"}, "host-name": {"10.0.0.1", "A", "*.b"}, "whole-quantity": {"1m", "0.5", "558530435.617483T"}, "wildcard-name": {"a.*", "A"},
		"env-var-name": {"1a", ""}, "ip": {"10.0.0.256", ""}, "iscsi-name": {"iqn.x"}, "ordinary-ip": {"", "0.0.0.0", "127.0.0.1", "169.254.0.1", "ff02::1"}, "label-value": {"-a", strings.Repeat("a", 64)}, "path-segment": {"a/b", "..", "a%b"},
		"file-path": {"/a", "..a", "../a"}, "no-backsteps": {"/a/..", ".."}, "relative-path": {"/a", "a/../b"},
		"port-name": {"80", "a--b"}, "port-number": {"0", "65536", "x"}, "qualified-name": {"", "a/b/c", "-"}, "quota-resource": {"storage", "x", ""},
		"resource-name": {"x", "a/b/c", ""}, "schedule": {"", "TZ=UTC", "TZ=", "TZ= ", "CRON_TZ=x y", "* * * *", "60 * * * *"}, "time-zone": {"", "local", "Local", "Europe/Atlantis", "../../etc/passwd"},
	}
	for _, name := range Formats() {
		if len(right[name]) == 0 || len(wrong[name]) == 0 {
			t.Errorf("%s is not tested", name)
		}
		for _, s := range right[name] {
			if problems := CheckFormat(name, s); len(problems) > 0 {
				t.Errorf("%s %q: %v", name, s, problems)
			}
		}
		for _, s := range wrong[name] {
			if len(CheckFormat(name, s)) == 0 {
				t.Errorf("%s %q: no problem", name, s)
			}
		}
	}
	if CheckFormat("int32", "x") != nil {
		t.Error("an unknown format refuses")
	}
}

func TestValidateUpdate(t *testing.T) {
	table := parseTable(t, `
type Thing
  name string
  class string immutable
  spec Spec explicit
  boxes Boxes
  loose []Box
  byName map:Box
  sel map:string immutable
type Spec
  size int32 explicit immutable
  free string
type Box
  name string
  kind string immutable
scalar Boxes []Box keys=name
`)
	for _, c := range []struct {
		name, old, updated string
		want               []string
	}{
		{"same", `{"class":"a","spec":{"size":1},"sel":{"a":"b"}}`, `{"sel":{"a":"b"},"spec":{"size":1},"class":"a"}`, nil},
		{"free to change", `{"name":"a","spec":{"free":"x"}}`, `{"name":"b","spec":{"free":"y"}}`, nil},
		{"changed", `{"class":"a","spec":{"size":1}}`, `{"class":"b","spec":{"size":2}}`,
			[]string{`class: Invalid value: "b": field is immutable`, `spec.size: Invalid value: 2: field is immutable`}},
		{"set and unset", `{"class":"a","spec":{}}`, `{"spec":{"size":0}}`,
			[]string{`class: Invalid value: null: field is immutable`, `spec.size: Invalid value: 0: field is immutable`}},
		{"whole maps", `{"sel":{"a":"b"}}`, `{"sel":{"a":"c"}}`, []string{`sel: Invalid value: {"a":"c"}: field is immutable`}},
		{"elements by key", `{"boxes":[{"name":"x","kind":"1"},{"name":"y","kind":"2"}]}`, `{"boxes":[{"name":"y","kind":"2"},{"name":"x","kind":"3"},{"name":"z","kind":"4"}]}`,
			[]string{`boxes[1].kind: Invalid value: "3": field is immutable`}},
		{"elements without keys", `{"loose":[{"name":"x","kind":"1"}]}`, `{"loose":[{"name":"x","kind":"2"}]}`, nil},
		{"members", `{"byName":{"x":{"kind":"1"}}}`, `{"byName":{"x":{"kind":"2"},"y":{"kind":"1"}}}`, []string{`byName[x].kind: Invalid value: "2": field is immutable`}},
		{"the object goes", `{"spec":{"size":1}}`, `{}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dec := Decoder{Table: table}
			old, _, err := dec.Decode(table.Root("Thing"), []byte(c.old))
			if err != nil {
				t.Fatal(err)
			}
			defer old.Release()
			updated, _, err := dec.Decode(table.Root("Thing"), []byte(c.updated))
			if err != nil {
				t.Fatal(err)
			}
			defer updated.Release()
			var got []string
			for _, cause := range ValidateUpdate(updated.Root(), old.Root(), nil) {
				got = append(got, cause.Field+": "+cause.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if causes := ValidateUpdate(updated.Root(), Value{}, nil); causes != nil {
				t.Error("without an old object:", causes)
			}
		})
	}
}

// A required member that may be zero is missing only if it was not sent, or null.
func TestRequiredMayBeZero(t *testing.T) {
	table := parseTable(t, "type Thing\n  text string explicit required\n  list []string explicit required\n  labels map:string explicit required")
	root := &table.Types[table.Root("Thing")]
	for i := range root.Fields {
		root.Fields[i].MayBeZero = root.Fields[i].Required
	}
	table.MakeIndex()
	for in, want := range map[string]int{`{"text":"","list":[],"labels":{}}`: 0, `{"text":null,"list":[]}`: 2, `{}`: 3} {
		d, _, err := (&Decoder{Table: table}).Decode(table.Root("Thing"), []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := Validate(d.Root(), nil); len(got) != want {
			t.Errorf("%s: %v", in, got)
		}
		d.Release()
	}
}
