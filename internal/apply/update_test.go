package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	flowcontrol "github.com/capstan-dev/capstan/internal/gen/flowcontrol.apiserver/v1beta2"
)

// object reads an object of JSON and fails the test on an error.
func object(t *testing.T, k *Kind, text string) document.Value {
	t.Helper()
	doc, err := k.read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func record(t *testing.T, k *Kind, live, obj document.Value, w Write) string {
	t.Helper()
	if err := k.Update(live, obj, w); err != nil {
		t.Fatal(err)
	}
	return string(obj.At("metadata", "managedFields").AppendJSON(nil))
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`

func TestEntriesAreWrittenAsTheReferenceDoes(t *testing.T) {
	k := coreKind("Service")
	obj := object(t, k, `{"kind":"Service","metadata":{"name":"s","labels":{"a":"b"},"finalizers":["x/y"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]},"spec":{"ports":[{"port":80},{"port":9}],"selector":{"a":"b"}},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`)
	got := record(t, k, document.Value{}, obj, Write{Manager: "m", Time: "2022-01-01T00:00:00Z", Reset: MainReset(true)})
	want := `[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2022-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{` +
		`"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}},"f:labels":{".":{},"f:a":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"u\"}":{}}},` +
		`"f:spec":{"f:internalTrafficPolicy":{},"f:ports":{".":{},"k:{\"port\":9,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}},` +
		`"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},"f:selector":{},"f:sessionAffinity":{},"f:type":{}}}}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStatusIsRecordedBySubresource(t *testing.T) {
	k := coreKind("Pod")
	live := object(t, k, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	record(t, k, document.Value{}, live, Write{Manager: "m", Time: "2022-01-01T00:00:00Z", Reset: MainReset(true)})
	obj := object(t, k, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"other"}]},"status":{"phase":"Running"}}`)
	got := record(t, k, live, obj, Write{Manager: "kubelet", Subresource: "status", Time: "2022-01-02T00:00:00Z", Reset: k.StatusReset([][]string{{"metadata", "deletionTimestamp"}, {"metadata", "ownerReferences"}})})
	want := `,{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2022-01-02T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:phase":{}}},"subresource":"status"}]`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant …%s", got, want)
	}
	if !strings.Contains(got, `"f:image"`) {
		t.Error("the status endpoint took what it does not write")
	}
}

func TestListsOfClients(t *testing.T) {
	k := coreKind("ConfigMap")
	live := object(t, k, configMap)
	first := record(t, k, document.Value{}, live, Write{Manager: "m", Time: "2022-01-01T00:00:00Z"})
	w := Write{Manager: "other", Time: "2022-01-02T00:00:00Z"}
	valid := `{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}`
	for _, c := range []struct{ name, list, sub, want string }{
		{"none", ``, "", first},
		{"the same", first, "", first},
		{"empty", `[]`, "", first},
		{"reset", `[{}]`, "", ""},
		{"replaced", "[" + valid + "]", "", "[" + valid + "]"},
		{"by a subresource", "[" + valid + "]", "status", first},
		{"of another operation", strings.Replace("["+valid+"]", "Apply", "Frob", 1), "", first},
		{"without a version", strings.Replace("["+valid+"]", `"v1"`, `""`, 1), "", first},
		{"of another type", strings.Replace("["+valid+"]", `"FieldsV1"`, `"FieldsV2"`, 1), "", first},
		{"with wrong fields", strings.Replace("["+valid+"]", `"f:k"`, `"k"`, 1), "", first},
		{"of another version of the kind", strings.Replace("["+valid+"]", `"v1"`, `"v0"`, 1), "", ""},
	} {
		text := configMap
		if c.list != "" {
			text = strings.Replace(text, `"name":"a"`, `"name":"a","managedFields":`+c.list, 1)
		}
		w.Subresource = c.sub
		if got := record(t, k, live, object(t, k, text), w); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestOldestUpdatersArePutTogether(t *testing.T) {
	k := coreKind("ConfigMap")
	live := object(t, k, configMap)
	record(t, k, document.Value{}, live, Write{Manager: "creator", Time: "2022-01-01T00:00:00Z"})
	for i := range 15 {
		obj := object(t, k, string(live.AppendJSON(nil)))
		obj.Get("data").SetString(fmt.Sprintf("k%02d", i), "v")
		record(t, k, live, obj, Write{Manager: fmt.Sprintf("m%02d", i), Time: fmt.Sprintf("2022-01-02T00:%02d:00Z", i)})
		live = obj
	}
	list, err := readLedger(live.At("metadata", "managedFields"), true)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != maxUpdaters {
		t.Fatalf("%d entries", len(list))
	}
	old := list[0]
	if old.id.Manager != ancient || old.time != "2022-01-02T00:05:00Z" {
		t.Errorf("the first entry is of %s at %s", old.id.Manager, old.time)
	}
	if got := string(old.owned().AppendFields(nil)); got != `{"f:data":{".":{},"f:k":{},"f:k00":{},"f:k01":{},"f:k02":{},"f:k03":{},"f:k04":{},"f:k05":{}}}` {
		t.Errorf("it owns %s", got)
	}
}

func TestNobodyOwnsAnObjectWithElementsThatCannotBeToldApart(t *testing.T) {
	k := coreKind("Pod")
	good := `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}`
	for _, c := range []struct{ name, pod string }{
		{"two of one name", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"},{"name":"c"}]}}`},
		{"two of one value", `{"metadata":{"name":"p","finalizers":["x/y","x/y"]},"spec":{"containers":[{"name":"c"}]}}`},
		{"no name", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],"imagePullSecrets":[{}]}}`},
		{"an empty name", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],"imagePullSecrets":[{"name":""}]}}`},
		{"two ports", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","ports":[{"containerPort":1},{"containerPort":1,"protocol":"TCP"}]}]}}`},
		{"in the status, which is not written", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]},"status":{"conditions":[{"type":"A","status":"True"},{"type":"A","status":"True"}]}}`},
	} {
		w := Write{Manager: "m", Time: "2022-01-01T00:00:00Z", Reset: MainReset(true)}
		if got := record(t, k, document.Value{}, object(t, k, c.pod), w); got != "" {
			t.Errorf("a new one with %s: %s", c.name, got)
		}
		live := object(t, k, good)
		if record(t, k, document.Value{}, live, w) == "" {
			t.Fatal("nothing is recorded of a good one")
		}
		if got := record(t, k, live, object(t, k, c.pod), w); got != "" {
			t.Errorf("one that gets %s: %s", c.name, got)
		}
	}
}

// A list within an atomic value has no owners of its elements, which have to differ all the
// same.
func TestNobodyOwnsAnObjectWithRepeatedElementsInAnAtomicList(t *testing.T) {
	k := &Kind{Table: Merging(&flowcontrol.Table), Type: flowcontrol.Table.Root("FlowSchema"), APIVersion: "flowcontrol.apiserver.k8s.io/v1beta2", Name: "FlowSchema"}
	schema := func(verbs string) string {
		return `{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"l"},"rules":[{"resourceRules":[{"verbs":[` + verbs + `],"apiGroups":["*"],"resources":["*"]}]}]}}`
	}
	object := func(verbs string) document.Value {
		decoder := document.Decoder{Table: &flowcontrol.Table}
		doc, _, err := decoder.Decode(k.Type, []byte(schema(verbs)))
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root()
	}
	w := Write{Manager: "m", Time: "2022-01-01T00:00:00Z", Reset: MainReset(true)}
	if got := record(t, k, document.Value{}, object(`"get","get"`), w); got != "" {
		t.Errorf("a new one: %s", got)
	}
	live := object(`"get","list"`)
	if record(t, k, document.Value{}, live, w) == "" {
		t.Fatal("nothing is recorded of a good one")
	}
	if got := record(t, k, live, object(`"get","list","get"`), w); got != "" {
		t.Errorf("a changed one: %s", got)
	}
}

func TestUpdateWithoutEffectKeepsTimes(t *testing.T) {
	k := coreKind("ConfigMap")
	live := object(t, k, configMap)
	before := record(t, k, document.Value{}, live, Write{Manager: "m", Time: "2022-01-01T00:00:00Z"})
	obj := object(t, k, string(live.AppendJSON(nil)))
	if got := record(t, k, live, obj, Write{Manager: "other", Time: "2022-01-02T00:00:00Z"}); got != before {
		t.Errorf("an update without effect wrote %s", got)
	}
	// The server takes back the writer's change.
	obj.Get("data").SetString("k", "new")
	record(t, k, live, obj, Write{Manager: "m", Time: "2022-01-02T00:00:00Z"})
	changed := string(obj.AppendJSON(nil))
	KeepTimes(obj, live)
	if string(obj.AppendJSON(nil)) != changed {
		t.Error("a change lost its time")
	}
	obj.Get("data").SetString("k", "v")
	obj.Get("metadata").SetString("resourceVersion", "7")
	KeepTimes(obj, live)
	if got := string(obj.At("metadata", "managedFields").AppendJSON(nil)); got != before {
		t.Errorf("the time of a change that was taken back stays: %s", got)
	}
}

func TestManagerName(t *testing.T) {
	for _, c := range []struct{ field, agent, want string }{
		{"mine", "kubectl/v1", "mine"},
		{"", "kubectl/v1.25.0 (linux/amd64)", "kubectl"},
		{"", "", ""},
		{"", "curl", "curl"},
		{"", "a\x01b/1", "ab"},
		{"", strings.Repeat("x", 200) + "/1", strings.Repeat("x", 128)},
		{"", "\xff/1", "\ufffd"},
	} {
		if got := ManagerName(c.field, c.agent); got != c.want {
			t.Errorf("the name of %q and %q is %q, want %q", c.field, c.agent, got, c.want)
		}
	}
	for _, c := range []struct {
		name    string
		applied bool
		reason  string
	}{
		{"m", true, ""}, {"", false, ""}, {"", true, "FieldValueRequired"},
		{strings.Repeat("x", 129), false, "FieldValueTooLong"}, {"a\nb", false, "FieldValueInvalid"},
	} {
		got := ""
		if causes := CheckManager(c.name, c.applied); len(causes) > 0 {
			got = causes[0].Reason
		}
		if got != c.reason {
			t.Errorf("%.10q is refused for %q, want %q", c.name, got, c.reason)
		}
	}
}
