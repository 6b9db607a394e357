package background

import "errors"

// startup is the steps of the start that run while the first requests are served; health
// reports them.
type startup struct {
	objects, ranges, service, addresses, extensions, apis, flows *startupStep

	done chan struct{} // closed when the objects of every cluster exist
}

// startupStep is a part of the start.
type startupStep struct {
	done chan struct{} // closed at its end
}

func newStartup() startup {
	step := func() *startupStep { return &startupStep{done: make(chan struct{})} }
	return startup{objects: step(), ranges: step(), service: step(), addresses: step(), extensions: step(), apis: step(), flows: step(), done: make(chan struct{})}
}

// Finished reports whether the step is done.
func (p *startupStep) Finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Hook is a step under the name of 1.25's post-start hook for it.
type Hook struct {
	Name string
	Step *startupStep // nil for steps before the port is open
	// Needed for life: a grace period does not excuse that it is not done.
	Needed bool
}

// Check fails while the step is not done, unless a grace period excuses it.
func (h Hook) Check(grace bool) error {
	if h.Step == nil || h.Step.Finished() || grace && !h.Needed {
		return nil
	}
	return errors.New("not finished")
}

// hooks lists the steps in the order of 1.25, with the names that later releases gave to
// some of them as well, since clients use either.
func (p *startup) hooks() []Hook {
	return []Hook{
		{Name: "poststarthook/start-apiserver-admission-initializer"},
		{Name: "poststarthook/start-kube-apiserver-admission-initializer"},
		{Name: "poststarthook/generic-apiserver-start-informers"},
		{Name: "poststarthook/priority-and-fairness-config-consumer", Step: p.flows},
		{Name: "poststarthook/priority-and-fairness-filter"},
		{Name: "poststarthook/storage-object-count-tracker-hook"},
		{Name: "poststarthook/start-apiextensions-informers"},
		{Name: "poststarthook/start-apiextensions-controllers"},
		{Name: "poststarthook/crd-informer-synced"},
		{Name: "poststarthook/storage-readiness"},
		{Name: "poststarthook/start-system-namespaces-controller"},
		{Name: "poststarthook/bootstrap-controller", Step: p.service},
		{Name: "poststarthook/start-service-ip-repair-controllers", Step: p.addresses},
		{Name: "poststarthook/rbac/bootstrap-roles", Step: p.objects, Needed: true},
		{Name: "poststarthook/scheduling/bootstrap-system-priority-classes", Step: p.objects, Needed: true},
		{Name: "poststarthook/priority-and-fairness-config-producer", Step: p.objects, Needed: true},
		{Name: "poststarthook/start-cluster-authentication-info-controller", Step: p.extensions},
		{Name: "poststarthook/start-kube-aggregator-informers", Step: p.apis},
		{Name: "poststarthook/apiservice-registration-controller", Step: p.apis},
		{Name: "poststarthook/apiservice-status-available-controller", Step: p.apis},
		{Name: "poststarthook/apiservice-status-local-available-controller", Step: p.apis},
		{Name: "poststarthook/apiservice-status-remote-available-controller", Step: p.apis},
		{Name: "poststarthook/kube-apiserver-autoregistration", Step: p.apis},
		{Name: "autoregister-completion", Step: p.apis},
		{Name: "poststarthook/apiservice-openapi-controller"},
		{Name: "poststarthook/apiservice-openapiv3-controller"},
	}
}
