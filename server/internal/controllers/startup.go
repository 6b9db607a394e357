package controllers

// startup is the steps of the start that run while the first requests are served; health
// reports them.
type startup struct {
	objects, service, extensions, apis, flows, definitions *startupStep

	done chan struct{} // closed when the objects of every cluster exist
}

// startupStep is a part of the start.
type startupStep struct {
	done chan struct{} // closed at its end
}

func newStartup() startup {
	step := func() *startupStep { return &startupStep{done: make(chan struct{})} }
	return startup{objects: step(), service: step(), extensions: step(), apis: step(), flows: step(), definitions: step(), done: make(chan struct{})}
}

// onlyObjects ends the steps that are about the built-in groups.
func (p *startup) onlyObjects() {
	for _, step := range []*startupStep{p.service, p.extensions, p.apis, p.flows} {
		close(step.done)
	}
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
}

// hooks lists the steps in the order of 1.25, with the names that later releases gave to
// some of them as well, since clients use either.
func (p *startup) hooks() []Hook {
	return []Hook{
		{"poststarthook/start-apiserver-admission-initializer", nil},
		{"poststarthook/start-kube-apiserver-admission-initializer", nil},
		{"poststarthook/generic-apiserver-start-informers", nil},
		{"poststarthook/priority-and-fairness-config-consumer", p.flows},
		{"poststarthook/priority-and-fairness-filter", nil},
		{"poststarthook/storage-object-count-tracker-hook", nil},
		{"poststarthook/start-apiextensions-informers", p.definitions},
		{"poststarthook/start-apiextensions-controllers", p.definitions},
		{"poststarthook/crd-informer-synced", p.definitions},
		{"poststarthook/storage-readiness", nil},
		{"poststarthook/start-system-namespaces-controller", nil},
		{"poststarthook/bootstrap-controller", p.service},
		{"poststarthook/start-service-ip-repair-controllers", nil},
		{"poststarthook/rbac/bootstrap-roles", p.objects},
		{"poststarthook/scheduling/bootstrap-system-priority-classes", p.objects},
		{"poststarthook/priority-and-fairness-config-producer", p.objects},
		{"poststarthook/start-cluster-authentication-info-controller", p.extensions},
		{"poststarthook/start-kube-aggregator-informers", p.apis},
		{"poststarthook/apiservice-registration-controller", p.apis},
		{"poststarthook/apiservice-status-available-controller", p.apis},
		{"poststarthook/apiservice-status-local-available-controller", p.apis},
		{"poststarthook/apiservice-status-remote-available-controller", p.apis},
		{"poststarthook/kube-apiserver-autoregistration", p.apis},
		{"autoregister-completion", p.apis},
		{"poststarthook/apiservice-openapi-controller", nil},
		{"poststarthook/apiservice-openapiv3-controller", nil},
	}
}
