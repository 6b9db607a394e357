package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// otherProfile has nothing in common with openapi/profile.yaml.
const otherProfile = `groupSuffix: apis.example.org
labelDomain: labels.example.net
mediaTypeWord: harbor
extensionPrefix: x-harbor-
`

// publishedName finds a name of the published profile, which another profile must not
// show, and returns it with the text around it, or nil.
func publishedName(text []byte) []byte {
	for _, name := range []string{"k8s.io", "io.k8s", "kubernetes"} {
		if i := bytes.Index(text, []byte(name)); i >= 0 {
			return text[max(i-40, 0):min(i+40, len(text))]
		}
	}
	return nil
}

// TestOtherProfile generates and builds everything with other names, and searches the
// answers of such a server for names of the published profile.
func TestOtherProfile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the whole server")
	}
	root := t.TempDir()
	copyProject(t, root)
	if err := os.WriteFile(filepath.Join(root, "openapi", "profile.yaml"), []byte(otherProfile), 0o644); err != nil {
		t.Fatal(err)
	}
	buildCopy(t, root)
	searchGenerated(t, filepath.Join(root, "gen"), 80)
	searchGenerated(t, filepath.Join(root, "internal", "gen"), 130)

	server := serveBinary(t, filepath.Join(root, "capstan"), t.TempDir(), "--runtime-config", "api/all=true")
	client, err := rest.HTTPClientFor(server.config(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, ready := untilReady(t, client, server.url, time.Now(), startLimit); !ready {
		t.Fatalf("the server is not ready after %s", startLimit)
	}
	o := otherServer{t, client, server.url}
	t.Run("requests", o.requests)
	t.Run("token", o.token)
	t.Run("discovery", o.discovery) // last: it sees the objects of the others
}

// searchGenerated looks for published names in all that is generated into a folder, which
// are so many files at least; imports of libraries have them.
func searchGenerated(t *testing.T, dir string, least int) {
	t.Helper()
	library := regexp.MustCompile(`"(sigs\.)?k8s\.io/[a-z]`)
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for i, line := range bytes.Split(data, []byte("\n")) {
			if found := publishedName(library.ReplaceAll(line, nil)); found != nil {
				t.Errorf("%s:%d: %s", path, i+1, found)
			}
		}
		return err
	})
	if err != nil || files < least {
		t.Fatalf("%d files were generated: %v", files, err)
	}
}

// otherServer is a server with the names of otherProfile.
type otherServer struct {
	t      *testing.T
	client *http.Client
	url    string
}

// ask sends a request and returns the body of the answer. Neither it nor its
// header may have published names.
func (o otherServer) ask(t *testing.T, status int, method, path, accept, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := o.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d (%v)\n%.2000s", method, path, answer.Status, status, err, data)
	}
	var header bytes.Buffer
	_ = answer.Header.Write(&header)
	for _, text := range [][]byte{header.Bytes(), data} {
		if found := publishedName(text); found != nil {
			t.Errorf("%s %s shows %q", method, path, found)
		}
	}
	if media, _, _ := strings.Cut(accept, ";"); status < 300 && !strings.HasPrefix(answer.Header.Get("Content-Type"), media) {
		t.Errorf("%s %s: Content-Type %q, want %s", method, path, answer.Header.Get("Content-Type"), media)
	}
	return data
}

const (
	jsonMedia   = "application/json"
	otherBinary = "application/vnd.harbor.protobuf"
)

// requests are those whose answers hold each of the names.
func (o otherServer) requests(t *testing.T) {
	const account = `{"metadata":{"name":"runner"}}`
	for _, test := range []struct {
		status                     int
		method, path, accept, body string
		want                       string // a part of the answer
	}{
		{201, "POST", "/api/v1/namespaces", jsonMedia, `{"metadata":{"name":"shop"}}`, `"labels.example.net/metadata.name":"shop"`},
		{200, "GET", "/api/v1/namespaces/shop", jsonMedia, "", `"finalizers":["harbor"]`},
		{200, "GET", "/api/v1/namespaces/shop", otherBinary, "", "k8s\x00"},
		{406, "GET", "/api/v1/namespaces/shop", "application/vnd." + "kubernetes" + ".protobuf", "", `"reason":"NotAcceptable"`},
		{200, "GET", "/api/v1/namespaces/shop", "application/json;as=Table;v=v1;g=meta.apis.example.org", "", `"apiVersion":"meta.apis.example.org/v1"`},
		{200, "GET", "/api/v1/namespaces/default/services/harbor", jsonMedia, "", `"provider":"harbor"`},
		{201, "POST", "/api/v1/nodes", jsonMedia, `{"metadata":{"name":"n1"}}`, `"key":"node.labels.example.net/not-ready"`},
		{201, "POST", "/api/v1/persistentvolumes", jsonMedia,
			`{"metadata":{"name":"v1"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/d"}}}`, `"labels.example.net/pv-protection"`},
		{201, "POST", "/api/v1/namespaces/default/serviceaccounts", jsonMedia, account, `"name":"runner"`},
		{201, "POST", "/api/v1/namespaces/default/pods", jsonMedia,
			`{"metadata":{"name":"p"},"spec":{"serviceAccountName":"runner","containers":[{"name":"c","image":"i"}]}}`, `"mountPath":"/var/run/secrets/labels.example.net/serviceaccount"`},
		{201, "POST", "/apis/networking.apis.example.org/v1/namespaces/shop/networkpolicies", jsonMedia,
			`{"apiVersion":"networking.apis.example.org/v1","kind":"NetworkPolicy","metadata":{"name":"all"},"spec":{"podSelector":{}}}`, `"apiVersion":"networking.apis.example.org/v1"`},
		{404, "GET", "/apis/networking." + "k8s" + ".io/v1/networkpolicies", jsonMedia, "", ""},
		{201, "POST", "/apis/rbac.authorization.apis.example.org/v1/namespaces/shop/rolebindings", jsonMedia,
			`{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"u"}]}`, `"apiGroup":"rbac.authorization.apis.example.org"`},
		{422, "POST", "/apis/discovery.apis.example.org/v1/namespaces/shop/endpointslices", jsonMedia, `{"metadata":{"name":"s"},"endpoints":[]}`, `"group":"discovery.apis.example.org"`},
		{422, "GET", "/api/v1/namespaces?limit=1&watch=1&sendInitialEvents=true", jsonMedia, "", `"group":"meta.apis.example.org"`},
		{200, "GET", "/api/v1/namespaces?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1", jsonMedia, "", `"apis.example.org/initial-events-end":"true"`},
	} {
		if got := o.ask(t, test.status, test.method, test.path, test.accept, test.body); !bytes.Contains(got, []byte(test.want)) {
			t.Errorf("%s %s as %s lacks %q:\n%.2000q", test.method, test.path, test.accept, test.want, got)
		}
	}
}

// token reads the claims of a service account's token.
func (o otherServer) token(t *testing.T) {
	body := o.ask(t, http.StatusCreated, "POST", "/api/v1/namespaces/default/serviceaccounts/runner/token", jsonMedia, `{"spec":{}}`)
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(request.Status.Token, ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[min(1, len(parts)-1)])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"labels.example.net":{"namespace":"default"`, `"iss":"https://harbor.default.svc"`} {
		if !bytes.Contains(claims, []byte(want)) {
			t.Errorf("the token lacks %s: %s", want, claims)
		}
	}
}

// discovery reads everything that the server publishes of itself, and every
// collection.
func (o otherServer) discovery(t *testing.T) {
	read := func(path string, into any) {
		t.Helper()
		if err := json.Unmarshal(o.ask(t, http.StatusOK, "GET", path, jsonMedia, ""), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	o.ask(t, http.StatusOK, "GET", "/apis", "application/json;g=apidiscovery.apis.example.org;v=v2beta1;as=APIGroupDiscoveryList", "")
	for _, path := range []string{"/openapi/v2", "/openapi/v3/api/v1"} {
		if !bytes.Contains(o.ask(t, http.StatusOK, "GET", path, jsonMedia, ""), []byte(`"x-harbor-group-version-kind"`)) {
			t.Errorf("%s lacks the extensions of the profile", path)
		}
	}
	var published struct{ Paths map[string]any }
	read("/openapi/v3", &published)
	for path := range published.Paths {
		o.ask(t, http.StatusOK, "GET", "/openapi/v3/"+path, jsonMedia, "")
	}
	var groups struct {
		Groups []struct {
			Versions []struct{ GroupVersion string }
		}
	}
	read("/apis", &groups)
	paths := []string{"/api/v1"}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			paths = append(paths, "/apis/"+version.GroupVersion)
		}
	}
	read200 := 0
	for _, path := range paths {
		var resources struct {
			Resources []struct {
				Name  string
				Verbs []string
			}
		}
		read(path, &resources)
		for _, r := range resources.Resources {
			if slices.Contains(r.Verbs, "list") {
				o.ask(t, http.StatusOK, "GET", path+"/"+r.Name, jsonMedia, "")
				read200++
			}
		}
	}
	if read200 < 50 {
		t.Errorf("only %d collections were found", read200)
	}
}
