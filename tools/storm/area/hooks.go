package area

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// hooks is the area of admission webhooks that appear, change, are slow, fail, refuse,
// change objects and vanish, while config maps are written. Their own answers are kept in
// the process of the storm.
func hooks() Area {
	return Area{Name: "hooks", Weight: 2, Do: doHooks, Rest: restHooks, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"make", 4}, weighted{"change", 4}, weighted{"drop", 5})
	}}
}

// hookLimit is the time that a webhook has; some take longer.
const hookLimit = promise.WebhookLimit

// webhooks is a server for webhooks of this process.
var webhooks = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(review))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // servers under test go away
	s.StartTLS()
	return s
})

func review(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Request struct {
			UID    string
			Object struct {
				Metadata struct{ Labels map[string]string }
			}
		}
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	response := object{"uid": in.Request.UID, "allowed": true}
	switch strings.TrimPrefix(r.URL.Path, "/") {
	case "slow":
		select {
		case <-r.Context().Done():
		case <-time.After(hookLimit + 200*time.Millisecond):
		}
	case "sluggish":
		time.Sleep(20 * time.Millisecond)
	case "fail":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "deny":
		response["allowed"] = in.Request.Object.Metadata.Labels["app"] != "db"
	case "mutate":
		if in.Request.Object.Metadata.Labels != nil {
			patch := `[{"op":"add","path":"/metadata/labels/` + promise.Hooked + `","value":"yes"}]`
			response["patchType"], response["patch"] = "JSONPatch", base64.StdEncoding.EncodeToString([]byte(patch))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}) // the server may be gone
}

// hookKind is the kind of webhooks that a step means.
func hookKind(n int) stage.Kind {
	if n%2 == 0 {
		return stage.Kind{Resource: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration", Group: "admissionregistration.k8s.io",
			Version: "v1"}
	}
	return stage.Kind{Resource: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration", Group: "admissionregistration.k8s.io", Version: "v1"}
}

// hooked are the webhooks of a configuration. Only the slow and the failing ones may be
// left out, so that a storm is not one failure.
func hooked(n int, mutating bool) []object {
	s := webhooks()
	path := of(n, "sluggish", "fail", "deny")
	switch {
	case n%13 == 0:
		path = "slow" // seldom: everybody waits for it
	case mutating:
		path = of(n, "sluggish", "fail", "mutate", "mutate")
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return []object{{"name": "one.storm.test", "failurePolicy": "Ignore", "timeoutSeconds": int(hookLimit / time.Second), "sideEffects": "None",
		"admissionReviewVersions": []string{"v1"},
		"clientConfig":            object{"url": s.URL + "/" + path, "caBundle": authority},
		"rules": []object{{"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"configmaps", "services"},
			"operations": []string{"CREATE", "UPDATE"}}}}}
}

func doHooks(_ context.Context, c *stage.Client, s program.Step) {
	q := stage.Request{Kind: hookKind(s.A), Name: fmt.Sprintf("hook-%d", s.B%2)}
	switch s.Op {
	case "make":
		q.Verb, q.Body = "create", object{"metadata": object{"name": q.Name}, "webhooks": hooked(s.C, s.A%2 == 1)}
	case "change":
		q.Verb, q.ContentType, q.Body = "patch", "application/merge-patch+json", object{"webhooks": hooked(s.C, s.A%2 == 1)}
	case "drop":
		q.Verb = "delete"
	}
	c.Do(q)
}

// restHooks takes all webhooks away: afterwards none of them is asked.
func restHooks(_ context.Context, c *stage.Client) {
	c.Quiet = true
	for n := range 2 {
		c.Do(stage.Request{Verb: "deletecollection", Kind: hookKind(n)})
	}
	probe := stage.Request{Kind: stage.KindOf("configmaps"), Namespace: Spaces[0], Name: "unhooked"}
	probe.Verb, probe.Body = "create", object{"metadata": object{"name": probe.Name, "labels": object{"app": "db"}}}
	call := c.Do(probe)
	if !call.Done() || call.Object == nil || call.Object.Meta.Labels[promise.Hooked] != "" {
		c.Probe("unhooked", "all webhooks are deleted, and a create is answered %d %s", call.Code, call.Message)
	}
}
