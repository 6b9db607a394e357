package controllers

// startup is what happens beside the first requests, in steps that health tells of.
type startup struct {
	objects, service, extensions, apis, flows, definitions *startupStep

	done chan struct{} // closed when the objects that every cluster has are there
}

// startupStep is a part of the start.
type startupStep struct {
	done chan struct{} // closed when it is
}

func newStartup() startup {
	step := func() *startupStep { return &startupStep{done: make(chan struct{})} }
	return startup{objects: step(), service: step(), extensions: step(), apis: step(), flows: step(), definitions: step(), done: make(chan struct{})}
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

// Hook is a step as clients ask for it: by the name of the hook of 1.25 that does
// the same.
type Hook struct {
	Name string
	Step *startupStep // nil for what is done before the port is open
}

// hooks lists the steps in the order of 1.25, with the names that later releases gave
// to some of them beside those, since clients ask for either.
func (p *startup) hooks() []Hook {
	return []Hook{
		{"poststarthook/start-apiserver-admission-initializer", nil},
		{"poststarthook/start-kube-apiserver-admission-initializer", nil},
		{"poststarthook/generic-apiserver-start-informers", nil},
		{"poststarthook/priority-and-fairness-config-consumer", p.flows},
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
