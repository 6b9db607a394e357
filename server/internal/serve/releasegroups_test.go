package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const schedulingAlpha = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/"

// groupsOfPods serves groups of pods.
func groupsOfPods(t *testing.T) *harness.Server {
	h := harness.Start(t, func(cfg *server.Config) {
		emulating("1.36", "scheduling.k8s.io/v1alpha2=true")(cfg)
		cfg.FeatureGates = []string{"GenericWorkload=true", "GangScheduling=true", "WorkloadAwarePreemption=true", "WorkloadWithJob=true"}
	})
	h.Create("/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"high"},"value":1000}`)
	return h
}

// TestReleasePodGroups: a new group of pods is of a template that its workload has, is protected by a finalizer, and has the
// priority of its class.
func TestReleasePodGroups(t *testing.T) {
	h := groupsOfPods(t)
	h.Create(schedulingAlpha+"workloads", `{"metadata":{"name":"w"},"spec":{"podGroupTemplates":[{"name":"t","schedulingPolicy":{"basic":{}}}]}}`)
	h.Create(schedulingAlpha+"workloads", `{"metadata":{"name":"ends","finalizers":["example.com/f"]},"spec":{"podGroupTemplates":[{"name":"t","schedulingPolicy":{"basic":{}}}]}}`)
	h.Delete(schedulingAlpha + "workloads/ends")
	const refused = `podgroups.scheduling.k8s.io "g" is forbidden: `
	for _, c := range []struct{ workload, template, more, want string }{
		{"none", "t", "", refused + `PodGroup rejected: Workload "none" not found`},
		{"ends", "t", "", refused + `PodGroup rejected: Workload "ends" is being deleted`},
		{"w", "none", "", refused + `PodGroup rejected: PodGroupTemplate "none" not found in Workload "w"`},
		{"w", "t", `,"priorityClassName":"low"`, refused + "no PriorityClass with name low was found"},
		{"w", "t", `,"priorityClassName":"high","priority":7`, refused +
			"priority set in the pod group (7) must match the priority computed (1000) based on the priority class set in the spec"},
		{"w", "t", `,"priorityClassName":"high"`, ""},
	} {
		got := h.Send(http.MethodPost, schedulingAlpha+"podgroups", "application/json", fmt.Appendf(nil,
			`{"metadata":{"name":"g"},"spec":{"podGroupTemplateRef":{"workload":{"workloadName":%q,"podGroupTemplateName":%q}},"schedulingPolicy":{"basic":{}}%s}}`,
			c.workload, c.template, c.more))
		if c.want != "" {
			if got.Code != http.StatusForbidden || got.Field(t, "message") != c.want {
				t.Errorf("%+v: %d %s", c, got.Code, got.Body)
			}
			continue
		}
		got.Expect(t, http.StatusCreated, "")
		if has := fmt.Sprint(got.Field(t, "metadata.finalizers"), got.Field(t, "spec.priority")); has != "[scheduling.k8s.io/podgroup-protection] 1000" {
			t.Errorf("the group has %s", has)
		}
	}
}

// TestReleaseGangOfJob: the parallelism of a job stays while the pods of the job are scheduled all or none.
func TestReleaseGangOfJob(t *testing.T) {
	h := groupsOfPods(t)
	const jobs = "/apis/batch/v1/namespaces/default/jobs"
	group := func(name, policy, owners string) {
		h.Create(schedulingAlpha+"podgroups", `{"metadata":{"name":"`+name+`","ownerReferences":[`+owners+`]},"spec":{"schedulingPolicy":{`+policy+`}}}`)
	}
	group("gang", `"gang":{"minCount":2}`, "")
	group("basic", `"basic":{}`, "")
	for _, c := range []struct{ name, in, change, gang string }{
		{"named", "gang", `"parallelism":3`, "gang"},
		{"suspended", "gang", `"suspend":true`, ""},
		{"free", "basic", `"parallelism":3`, ""},
		{"lost", "missing", `"parallelism":3`, ""},
		{"owner", "", `"parallelism":3`, "of-owner"},
		{"other", "", `"parallelism":3`, ""},
	} {
		template := `"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]`
		if c.in != "" {
			template += `,"schedulingGroup":{"podGroupName":"` + c.in + `"}`
		}
		job := h.Create(jobs, `{"metadata":{"name":"`+c.name+`"},"spec":{"parallelism":2,"template":{"spec":{`+template+`}}}}`)
		if c.name == "owner" {
			group("of-owner", `"gang":{"minCount":2}`, fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","name":"owner","uid":%q,"controller":true}`, job.Field(t, "metadata.uid")))
		}
		got := h.Send(http.MethodPatch, jobs+"/"+c.name, harness.MergePatchMedia, []byte(`{"spec":{`+c.change+`}}`))
		if c.gang == "" {
			got.Expect(t, http.StatusOK, "")
		} else if want := fmt.Sprintf("jobs.batch %q is forbidden: cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", c.name,
			c.gang); got.Code != http.StatusForbidden || got.Field(t, "message") != want {
			t.Errorf("%+v: %d %s", c, got.Code, got.Body)
		}
	}
}
