package registry

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// reference is a running kube-apiserver and its etcd.
type reference struct {
	server, etcd, token string
	http                http.Client
}

// recorded is a line of testdata/reference.jsonl: an object of the reference, or an example
// that it refuses.
type recorded struct {
	Place   string          `json:"place,omitempty"`   // in etcd
	Key     string          `json:"key,omitempty"`     // in the store
	Value   []byte          `json:"value,omitempty"`   // in etcd
	Object  json.RawMessage `json:"object,omitempty"`  // the answer, in the version that the store keeps
	Example string          `json:"example,omitempty"` // of a refusal
	Refused string          `json:"refused,omitempty"` // the reason
}

type fields = map[string]any

// TestRecord writes testdata/reference.jsonl. testdata/README.md says how the reference has
// to be started, and that CAPSTAN_REFERENCE names it: "SERVER ETCD TOKEN".
func TestRecord(t *testing.T) {
	r := startedReference(t)
	snapshot := everyKind(t).Snapshot()
	var lines []recorded
	waiting := examples(t)
	refused := map[string]error{}
	// An object may need another one, so refused examples are sent again as long as others
	// are accepted.
	for accepted := true; accepted; {
		accepted = false
		for _, name := range slices.Sorted(maps.Keys(waiting)) {
			line, err := r.create(snapshot, []byte(waiting[name]))
			if refused[name] = err; err == nil {
				lines, accepted = append(lines, line), true
				delete(waiting, name)
				delete(refused, name)
			}
		}
	}
	for name, err := range refused {
		lines = append(lines, recorded{Example: name, Refused: err.Error()})
	}
	slices.SortFunc(lines, func(a, b recorded) int { return strings.Compare(a.Place+" "+a.Example, b.Place+" "+b.Example) })
	var out bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	if err := os.WriteFile(recording, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// examples are the valid examples of all kinds and the extras, by name.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(validExamples, "*", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	all := maps.Clone(extras)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(validExamples, file)
		all[filepath.ToSlash(name)] = string(text)
	}
	return all
}

// startedReference is the reference that the environment names.
func startedReference(t *testing.T) *reference {
	t.Helper()
	words := strings.Fields(os.Getenv("CAPSTAN_REFERENCE"))
	if len(words) != 3 {
		t.Skip("CAPSTAN_REFERENCE names no reference: testdata/README.md says how to start one")
	}
	r := &reference{server: words[0], etcd: words[1], token: words[2]}
	r.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // its certificate is its own
	return r
}

// extras are custom objects of the definition of cobblers, which is among the examples, and
// objects whose form in etcd has a rule of its own.
var extras = map[string]string{"custom/anna": `
apiVersion: shoes.example.com/v1
kind: Cobbler
metadata:
  name: anna
  labels: {street: main}
  annotations: {example.com/note: "<b> & \u2028 ü"}
  ownerReferences: [{apiVersion: v1, kind: Namespace, name: default, uid: 5f0c1f9e-0000-4000-8000-000000000001}]
spec: {street: "<Main> & 1", port: 80, tools: [awl, last], labels: {z: a, a: z}}
`, "custom/otto": `
apiVersion: shoes.example.com/v1
kind: Cobbler
metadata: {name: otto, finalizers: [example.com/keep]}
spec: {street: x, port: http, pairsPerDay: 0}
`, "custom/empty": `
apiVersion: shoes.example.com/v1
kind: Cobbler
metadata: {name: empty, labels: {}, annotations: {}, finalizers: []}
spec: {street: "\x01\t\x7f", labels: {}, tools: []}
`, "special/budget-of-all": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: of-all}
spec: {minAvailable: 1, selector: {}}
`, "special/budget-of-none": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: of-none}
spec: {minAvailable: 50%}
`, "special/budget-exists": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: exists}
spec: {maxUnavailable: 0, selector: {matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: Exists}]}}
`, "special/budget-absent": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: absent}
spec: {maxUnavailable: 0, selector: {matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: DoesNotExist}]}}
`, "special/slice-of-nodes": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: of-nodes}
addressType: IPv4
endpoints:
- {addresses: [10.1.0.1], nodeName: a, zone: z1, hints: {forZones: [{name: z1}]}, targetRef: {kind: Pod, name: p}}
- {addresses: [10.1.0.2], nodeName: b, hostname: h}
- {addresses: [10.1.0.3], zone: "", conditions: {ready: false}}
- {addresses: [10.1.0.4]}
ports: [{port: 80}, {name: s, port: 443, protocol: TCP, appProtocol: https}]
`, "special/slice-of-none": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: of-none}
addressType: FQDN
endpoints: []
`, "special/definition": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lasts.shoes.example.com}
spec:
  group: shoes.example.com
  scope: Cluster
  names: {plural: lasts, kind: Last, categories: []}
  versions:
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, description: "<&>", properties: {spec: {type: object, default: {z: 1, a: {}, f: 1.0, e: 1.0e3, g: 0.000001},
      properties: {z: {type: integer, enum: [1, 2], example: {c: 1, a: [2]}}, a: {type: object, x-kubernetes-preserve-unknown-fields: true}, f: {type: number, maximum: 3.0, multipleOf: 1.0},
        e: {type: number}, g: {type: number}, items: {type: array, items: {type: string, nullable: true, maxLength: 5}},
        lists: {type: array, items: {type: integer, enum: [5.0, 6]}}, maps: {type: object, additionalProperties: {type: integer, enum: [5.0, 6]}},
        not: {type: integer, not: {enum: [5.0, 6]}, anyOf: [{enum: [5.0, 6]}, {minimum: 7}]}}}}}}
    additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]
    subresources: {}
  - name: v1
    served: true
    storage: false
    deprecated: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.a}]
    subresources: {}
`, "special/volume": `
apiVersion: v1
kind: PersistentVolume
metadata: {name: again, labels: {again: a}}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /srv}}
`, "special/claim": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: again, labels: {again: a}}
spec: {resources: {requests: {storage: 1Gi}}, accessModes: [ReadWriteOnce]}
`, "special/event": `
apiVersion: v1
kind: Event
metadata: {name: started}
involvedObject: {kind: Pod, namespace: default, name: web, uid: u, apiVersion: v1, resourceVersion: "5", fieldPath: "spec.containers{a}"}
reason: Started
message: It has begun.
source: {component: kubelet, host: node-1}
firstTimestamp: "2024-05-06T12:00:00Z"
lastTimestamp: "2024-05-06T12:00:00Z"
count: 2
type: Normal
`}

// send sends a request to the server of the reference.
func (r *reference) send(method, path, contentType string, obj any) (code int, answer []byte, err error) {
	var body []byte
	if obj != nil {
		if body, err = json.Marshal(obj); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequest(method, r.server+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "recorder")
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// kept is an entry of etcd.
type kept struct {
	Place    []byte `json:"key"`
	Value    []byte `json:"value"`
	Revision string `json:"mod_revision"`
}

// all reads everything in etcd.
func (r *reference) all() ([]kept, error) {
	resp, err := r.http.Post(r.etcd+"/v3/kv/range", "application/json", strings.NewReader(`{"key":"AA==","range_end":"AA=="}`))
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	var found struct{ Kvs []kept }
	err = json.NewDecoder(resp.Body).Decode(&found)
	return found.Kvs, err
}

// create sends an object, and its status if it has one, and reads what became of it.
func (r *reference) create(snapshot *catalog.Snapshot, text []byte) (line recorded, err error) {
	var obj fields
	if err := yaml.Unmarshal(text, &obj); err != nil {
		return line, err
	}
	row := snapshot.Kind(obj["apiVersion"].(string), obj["kind"].(string))
	if row == nil || !row.Stored {
		return line, errors.New("the kind has no stored objects")
	}
	meta := obj["metadata"].(fields)
	namespace := ""
	if row.Namespaced {
		namespace = "default"
		meta["namespace"] = namespace
	}
	var made fields
	for taken := 1; made == nil; taken++ {
		code, answer, err := r.send("POST", collection(row, namespace), "application/json", obj)
		switch {
		case err != nil:
			return line, err
		case code == http.StatusConflict && taken < 9: // an example of another version has the name
			meta["name"] = fmt.Sprintf("%s-%d", meta["name"], taken)
		case code != http.StatusCreated:
			return line, fmt.Errorf("%d %s", code, answer)
		default:
			if err := json.Unmarshal(answer, &made); err != nil {
				return line, err
			}
		}
	}
	name := made["metadata"].(fields)["name"].(string)
	if labels, _ := meta["labels"].(fields); labels["again"] != nil { // write it once more
		code, answer, err := r.send("PATCH", collection(row, namespace)+"/"+name, "application/merge-patch+json", fields{"metadata": fields{"labels": fields{"again": "b"}}})
		if err != nil || code != http.StatusOK {
			return line, fmt.Errorf("once more: %d %s %v", code, answer, err)
		}
	}
	if status := obj["status"]; status != nil && row.Subresource("status") != nil {
		code, answer, err := r.send("PATCH", collection(row, namespace)+"/"+name+"/status", "application/merge-patch+json", fields{"status": status})
		if err != nil || code != http.StatusOK {
			return line, fmt.Errorf("the status: %d %s %v", code, answer, err)
		}
	}
	stored := row.Versions.Stored
	line.Key = stored.Key(namespace, name)
	for range 100 { // the server changes some objects soon after their creation
		code, answer, err := r.send("GET", collection(stored, namespace)+"/"+name, "", nil)
		if err != nil || code != http.StatusOK {
			return line, fmt.Errorf("in the version %s: %d %s %v", stored.GV.APIVersion(), code, answer, err)
		}
		var is struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		if err := json.Unmarshal(answer, &is); err != nil {
			return line, err
		}
		line.Object = bytes.TrimSpace(answer)
		found, err := r.find(&line, is.Metadata.UID, is.Metadata.ResourceVersion)
		if found || err != nil {
			return line, err
		}
	}
	return line, errors.New("etcd has no such object")
}

// collection is the path of the objects of a row.
func collection(row *catalog.Row, namespace string) string {
	if namespace != "" {
		return row.GV.Prefix() + "/namespaces/" + namespace + "/" + row.Plural
	}
	return row.GV.Prefix() + "/" + row.Plural
}

// find fills in what etcd keeps of an object at its revision.
func (r *reference) find(line *recorded, uid, revision string) (found bool, err error) {
	all, err := r.all()
	if err != nil {
		return false, err
	}
	name := line.Key[strings.LastIndexByte(line.Key, '/'):]
	for _, k := range all {
		if bytes.Contains(k.Value, []byte(uid)) && strings.HasSuffix(string(k.Place), name) && k.Revision == revision {
			line.Place, line.Value = strings.TrimPrefix(string(k.Place), "/registry"), k.Value
			return true, nil
		}
	}
	return false, nil
}

// TestWholeReference reads everything in the etcd of the reference and encodes it again.
func TestWholeReference(t *testing.T) {
	r := startedReference(t)
	form := New(everyKind(t))
	all, err := r.all()
	if err != nil || len(all) < 100 {
		t.Fatal(len(all), err)
	}
	objects := 0
	for _, k := range all {
		place := strings.TrimPrefix(string(k.Place), "/registry")
		key, ok := form.Key(place)
		if !ok {
			t.Logf("%s is no object", place)
			continue
		}
		if form.Place(key) != place {
			t.Errorf("%s: the place of %s is %s", place, key, form.Place(key))
		}
		objects++
		v, err := form.Decode(key, k.Value)
		if err != nil {
			t.Error(err)
			continue
		}
		data, err := form.Encode(key, v)
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(data, k.Value) && !filledByReaders(key) {
			t.Errorf("%s: etcd gets\n%q\nand should get\n%q", key, data, k.Value)
		}
	}
	t.Logf("%d objects", objects)
}
