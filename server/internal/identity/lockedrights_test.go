package identity_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// While a webhook is asked whether a PUT or an apply may create its missing object, the object
// is not locked: somebody else creates it meanwhile, in every composition of a server.
func TestRightsAreAskedUnderNoLock(t *testing.T) {
	const path = harness.RBACGroup + "clusterroles/r"
	for name, send := range map[string]func(h *harness.Server) harness.Reply{
		"put": func(h *harness.Server) harness.Reply {
			return sendMedia(h, "bob-token", "PUT", path, "", harness.RoleOf("r", roleWriting))
		},
		"applied": func(h *harness.Server) harness.Reply {
			return sendMedia(h, "bob-token", "PATCH", path+"?fieldManager=m", harness.ApplyMedia, applied("ClusterRole", harness.RoleOf("r", roleWriting)))
		},
	} {
		for _, composition := range []string{"built-in", "own"} {
			t.Run(name+", "+composition, func(t *testing.T) {
				hook := harness.NewLoginWebhook(t)
				asked, answer := make(chan struct{}, 10), make(chan struct{})
				hook.Answer(func(w http.ResponseWriter, r *http.Request) {
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
				h := harness.Start(t, func(c *server.Config) {
					compositions[composition](c)
					c.AuthorizationModes, c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = []string{"Webhook"}, hook.Config, "v1"
				})
				ended := make(chan harness.Reply, 1)
				go func() { ended <- send(h) }()
				select {
				case <-asked:
				case <-time.After(15 * time.Second):
					t.Fatal("the webhook is not asked")
				}
				sendMedia(h, harness.AdminToken, "POST", harness.RBACGroup+"clusterroles", "", harness.RoleOf("r", harness.EveryRight)).Expect(t, http.StatusCreated, "")
				close(answer)
				if got := <-ended; got.Code/100 == 5 {
					t.Errorf("%d %s", got.Code, got.Body)
				}
			})
		}
	}
}
