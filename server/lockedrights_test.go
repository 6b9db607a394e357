package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// While a webhook is asked whether a PUT or an apply may create its missing object, the object
// is not locked: somebody else creates it meanwhile, in every composition of a server.
func TestRightsAreAskedUnderNoLock(t *testing.T) {
	const path = rbacGroup + "clusterroles/r"
	for name, send := range map[string]func(h *harness) reply{
		"put": func(h *harness) reply { return h.sendMedia("bob-token", "PUT", path, "", roleOf("r", roleWriting)) },
		"applied": func(h *harness) reply {
			return h.sendMedia("bob-token", "PATCH", path+"?fieldManager=m", applyMedia, applied("ClusterRole", roleOf("r", roleWriting)))
		},
	} {
		for _, composition := range []string{"built-in", "own"} {
			t.Run(name+", "+composition, func(t *testing.T) {
				hook := newLoginWebhook(t)
				asked, answer := make(chan struct{}, 10), make(chan struct{})
				hook.answer(func(w http.ResponseWriter, r *http.Request) {
					var review struct {
						Spec struct {
							User     string
							Resource struct{ Verb string } `json:"resourceAttributes"`
						}
					}
					_ = json.NewDecoder(r.Body).Decode(&review)
					if review.Spec.User == "bob" && review.Spec.Resource.Verb == "create" {
						asked <- struct{}{}
						<-answer
					}
					_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
				})
				h := startServer(t, func(c *server.Config) {
					compositions[composition](c)
					c.AuthorizationModes, c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = []string{"Webhook"}, hook.config, "v1"
				})
				ended := make(chan reply, 1)
				go func() { ended <- send(h) }()
				select {
				case <-asked:
				case <-time.After(15 * time.Second):
					t.Fatal("the webhook is not asked")
				}
				h.sendMedia(adminToken, "POST", rbacGroup+"clusterroles", "", roleOf("r", everyRight)).expect(t, http.StatusCreated, "")
				close(answer)
				if got := <-ended; got.code/100 == 5 {
					t.Errorf("%d %s", got.code, got.body)
				}
			})
		}
	}
}
