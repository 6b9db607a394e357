package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// waysToSecrets are the places of a pod that name a secret, %s.
var waysToSecrets = map[string]string{
	"variable":             `"containers":[{"name":"c","image":"i","env":[{"name":"E","valueFrom":{"secretKeyRef":{"name":"%s","key":"k"}}}]}]`,
	"variables":            `"containers":[{"name":"c","image":"i","envFrom":[{"configMapRef":{"name":"x"}},{"secretRef":{"name":"%s"}}]}]`,
	"optional variables":   `"containers":[{"name":"c","image":"i","envFrom":[{"prefix":"P","secretRef":{"name":"%s","optional":true}}]}]`,
	"first variable":       `"initContainers":[{"name":"i","image":"i","env":[{"name":"E","valueFrom":{"secretKeyRef":{"name":"%s","key":"k"}}}]}]`,
	"first variables":      `"initContainers":[{"name":"i","image":"i","envFrom":[{"secretRef":{"name":"%s"}}]}]`,
	"volume":               `"volumes":[{"name":"v","secret":{"secretName":"%s"}}]`,
	"projected volume":     `"volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"%s"}}]}}]`,
	"projected volume too": `"volumes":[{"name":"v","projected":{"sources":[{"configMap":{"name":"x"}},{"secret":{"name":"ok"}},{"secret":{"name":"%s"}}]}}]`,
	"CSI":                  `"volumes":[{"name":"v","csi":{"driver":"d.example.com","nodePublishSecretRef":{"name":"%s"}}}]`,
	"flexVolume":           `"volumes":[{"name":"v","flexVolume":{"driver":"a/b","secretRef":{"name":"%s"}}}]`,
	"cephfs":               `"volumes":[{"name":"v","cephfs":{"monitors":["m"],"secretRef":{"name":"%s"}}}]`,
	"rbd":                  `"volumes":[{"name":"v","rbd":{"monitors":["m"],"image":"i","secretRef":{"name":"%s"}}}]`,
	"cinder":               `"volumes":[{"name":"v","cinder":{"volumeID":"v","secretRef":{"name":"%s"}}}]`,
	"scaleIO":              `"volumes":[{"name":"v","scaleIO":{"gateway":"g","system":"s","volumeName":"v","secretRef":{"name":"%s"}}}]`,
	"iscsi":                `"volumes":[{"name":"v","iscsi":{"targetPortal":"127.0.0.1","iqn":"iqn.2001-04.com.example:a","lun":0,"secretRef":{"name":"%s"}}}]`,
	"storageos":            `"volumes":[{"name":"v","storageos":{"volumeName":"v","secretRef":{"name":"%s"}}}]`,
	"azureFile":            `"volumes":[{"name":"v","azureFile":{"secretName":"%s","shareName":"s"}}]`,
	"images":               `"imagePullSecrets":[{"name":"%s"}]`,
	"images too":           `"imagePullSecrets":[{"name":"ok"},{"name":"%s"}]`,
}

// TestSecretsOfLimitedAccounts: a pod of an account with the annotation uses the secrets
// that the account lists, whatever the way to a secret is, and so do the containers that it
// gets later.
func TestSecretsOfLimitedAccounts(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.DisableAdmissionPlugins = nil })
	const pods = "/api/v1/namespaces/default/pods"
	const limited = `"metadata":{"name":"%s","annotations":{"kubernetes.io/enforce-mountable-secrets":"%s"}},"secrets":[{"name":"ok"}],"imagePullSecrets":[{"name":"ok"}]`
	h.Create("/api/v1/namespaces/default/serviceaccounts", "{"+fmt.Sprintf(limited, "limited", "true")+"}")
	h.Create("/api/v1/namespaces/default/serviceaccounts", "{"+fmt.Sprintf(limited, "free", "false")+"}")
	pod := func(name, account, spec, secret string) string {
		spec = fmt.Sprintf(spec, secret)
		if !strings.Contains(spec, `"containers"`) {
			spec += `,"containers":[{"name":"c","image":"i"}]`
		}
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"},"spec":{"serviceAccountName":"` + account + `",` + spec + `}}`
	}
	for way, spec := range waysToSecrets {
		got := h.Post(pods, pod("a", "limited", spec, "other"))
		if got.Code != 403 || !strings.Contains(string(got.Body), `\"other\" is not allowed because service account limited does not reference that`) {
			t.Errorf("%s: %d %s", way, got.Code, got.Body)
		}
		for _, again := range []harness.Reply{
			h.Post(pods+"?dryRun=All", pod("a", "limited", spec, "other")),
			h.Send("PUT", pods+"/a", "application/json", []byte(pod("a", "limited", spec, "other"))),
			h.Send("PATCH", pods+"/a?fieldManager=m", harness.ApplyMedia, []byte(pod("a", "limited", spec, "other"))),
		} {
			if again.Code != 403 {
				t.Errorf("%s, in another way: %d %s", way, again.Code, again.Body)
			}
		}
		for account, secret := range map[string]string{"limited": "ok", "free": "other"} {
			if got := h.Post(pods+"?dryRun=All", pod("a", account, spec, secret)); got.Code != 201 {
				t.Errorf("%s of %s with %s: %d %s", way, account, secret, got.Code, got.Body)
			}
		}
	}

	h.Create(pods, pod("running", "limited", `"volumes":[{"name":"v","secret":{"secretName":"%s"}}]`, "ok"))
	for name, container := range map[string]string{
		"variable":  `{"name":"e","image":"i","env":[{"name":"E","valueFrom":{"secretKeyRef":{"name":"%s","key":"k"}}}]}`,
		"variables": `{"name":"e","image":"i","envFrom":[{"secretRef":{"name":"%s"}}]}`,
	} {
		for secret, code := range map[string]int{"other": 403, "ok": 200} {
			list := `{"spec":{"ephemeralContainers":[` + fmt.Sprintf(container, secret) + `]}}`
			for _, media := range []string{"application/merge-patch+json", "application/strategic-merge-patch+json"} {
				got := h.Send("PATCH", pods+"/running/ephemeralcontainers?dryRun=All", media, []byte(list))
				if got.Code != code || code == 403 && !strings.Contains(string(got.Body), "ephemeral container e with env") {
					t.Errorf("late %s of %s: %d %s", name, secret, got.Code, got.Body)
				}
			}
			apply := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"running"},` + list[1:]
			if got := h.Send("PATCH", pods+"/running/ephemeralcontainers?dryRun=All&fieldManager=m", harness.ApplyMedia, []byte(apply)); got.Code != code {
				t.Errorf("applied %s of %s: %d %s", name, secret, got.Code, got.Body)
			}
		}
	}
}
