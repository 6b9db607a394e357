package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// laterSpace is the namespace of the objects that are made.
const laterSpace = "later"

// side is a server with the etcd that only this server uses.
type side struct {
	t      *testing.T
	x      *exchange
	client *kubernetes.Clientset
	etcd   string
}

// answered is the answer to a request.
type answered struct {
	code int
	body map[string]any
}

func (a answered) String() string {
	text, _ := json.Marshal(a.body)
	return fmt.Sprintf("%d %s", a.code, text)
}

// ask sends a request; mediaType is that of the body.
func (s *side) ask(method, path, mediaType string, body []byte) (a answered) {
	s.t.Helper()
	r := s.client.RESTClient().Verb(method).AbsPath(path).Param("fieldManager", "judge").SetHeader("Content-Type", mediaType).Body(body).Do(s.x.ctx)
	r.StatusCode(&a.code)
	raw, err := r.Raw()
	if jsonErr := json.Unmarshal(raw, &a.body); jsonErr != nil {
		s.t.Fatalf("%s %s: %d %q: %v, %v", method, path, a.code, raw, err, jsonErr)
	}
	return a
}

// kindOf is a resource in one version.
type kindOf struct {
	id, path   string // "deployments.apps", "/apis/apps/v1"
	apiVersion string
	metav1.APIResource
}

// at is the path of an object; that of all objects without a name.
func (k *kindOf) at(namespace, name string) string {
	path := k.path + "/"
	if k.Namespaced && namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	return strings.TrimSuffix(path+k.Name+"/"+name, "/")
}

// kinds are the resources with objects that the server has, in all versions or in the preferred ones.
func (s *side) kinds(preferred bool) (all []kindOf) {
	s.t.Helper()
	lists := func() ([]*metav1.APIResourceList, error) {
		if preferred {
			return s.client.Discovery().ServerPreferredResources()
		}
		_, all, err := s.client.Discovery().ServerGroupsAndResources()
		return all, err
	}
	found, err := lists()
	if err != nil {
		s.t.Log(err) // of registrations without servers
	}
	for _, list := range found {
		group, _, grouped := strings.Cut(list.GroupVersion, "/")
		for _, r := range list.APIResources {
			k := kindOf{r.Name, "/api/" + list.GroupVersion, list.GroupVersion, r}
			if grouped {
				k.id, k.path = r.Name+"."+group, "/apis/"+list.GroupVersion
			}
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "get") {
				all = append(all, k)
			}
		}
	}
	slices.SortFunc(all, func(a, b kindOf) int { return strings.Compare(a.path+a.Name, b.path+b.Name) })
	return all
}

// tables reads objects by resource.
func tables(t *testing.T, files ...string) map[string][]map[string]any {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	all := map[string][]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one := map[string][]map[string]any{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(data), "${CSR}", text)), &one); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for id, objects := range one {
			all[id] = append(all[id], objects...)
		}
	}
	return all
}

// fill writes objects of every kind, and returns how many of each were made.
func (s *side) fill() {
	s.t.Helper()
	differ := filepath.Join("..", "..", "tools", "differ")
	data := filepath.Join(differ, "gen", "data")
	all := tables(s.t, filepath.Join(data, "bases1.yaml"), filepath.Join(data, "bases2.yaml"), filepath.Join("testdata", "later", "objects.yaml"))
	space := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, laterSpace)
	s.ask("POST", "/api/v1/namespaces", "application/json", []byte(space))
	var definitions []map[string]any
	text, err := os.ReadFile(filepath.Join(differ, "exec", "data", "crds.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &definitions); err != nil {
		s.t.Fatal(err)
	}
	all["customresourcedefinitions.apiextensions.k8s.io"] = append(all["customresourcedefinitions.apiextensions.k8s.io"], definitions...)
	done := map[string]bool{}
	for range 2 { // custom objects after their definitions
		for _, k := range s.kinds(true) {
			if !done[k.id] {
				done[k.id] = true
				s.fillKind(k, all[k.id])
			}
		}
		s.awaitKind("/apis/later.example.com/v1/boats")
		s.awaitKind("/apis/differ.example.com/v1/gadgets")
		all["boats.later.example.com"] = []map[string]any{{"spec": map[string]any{"sails": 3, "colour": "red"}}, {"spec": map[string]any{}}}
	}
}

// awaitKind waits until custom objects are served.
func (s *side) awaitKind(path string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); s.client.RESTClient().Get().AbsPath(path).Do(s.x.ctx).Error() != nil; {
		if time.Now().After(end) {
			s.t.Fatalf("%s is not served", path)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// fillKind writes objects of a kind.
func (s *side) fillKind(k kindOf, objects []map[string]any) {
	s.t.Helper()
	if !slices.Contains(k.Verbs, "create") {
		return
	}
	if len(objects) == 0 {
		s.t.Logf("no objects of %s %s", k.apiVersion, k.Name)
	}
	made := 0
	for i, o := range objects {
		text, err := json.Marshal(manifest(k, i, o))
		if err != nil {
			s.t.Fatal(err)
		}
		text = []byte(strings.NewReplacer("g.${NS}.", fmt.Sprintf("%s%d.", k.Name, i), "${NS}", laterSpace).Replace(string(text)))
		a := s.ask("POST", k.at(laterSpace, ""), "application/json", text)
		if a.code != 201 {
			s.t.Logf("%s %d is refused: %v", k.id, i, a.body["message"])
			continue
		}
		made++
		if status := o["status"]; status != nil {
			name, _ := a.body["metadata"].(map[string]any)["name"].(string)
			patch, _ := json.Marshal(map[string]any{"status": status})
			if a := s.ask("PATCH", k.at(laterSpace, name)+"/status", "application/merge-patch+json", patch); a.code != 200 {
				s.t.Logf("the status of %s %d is refused: %v", k.id, i, a.body["message"])
			}
		}
	}
	if made == 0 && len(objects) > 0 {
		s.t.Errorf("no object of %s was made", k.id)
	}
}

// manifest completes an object of a table.
func manifest(k kindOf, i int, o map[string]any) map[string]any {
	o = maps.Clone(o)
	meta, _ := o["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	if meta["name"] == nil {
		meta["name"] = fmt.Sprintf("%s-%d", k.SingularName, i)
		if k.id == "events" {
			meta["name"] = fmt.Sprint("old-", i)
		}
	}
	if spec, ok := o["spec"].(map[string]any); ok {
		names, _ := spec["names"].(map[string]any)
		switch k.Name {
		case "customresourcedefinitions":
			meta["name"] = fmt.Sprintf("%v.%v", names["plural"], spec["group"])
		case "apiservices":
			meta["name"] = fmt.Sprintf("%v.%v", spec["version"], spec["group"])
		}
	}
	o["metadata"], o["apiVersion"], o["kind"] = meta, k.apiVersion, k.Kind
	return o
}
