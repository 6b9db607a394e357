package admission

// slice permits slices of the node's own devices; of later writes the authorizer knows the node of the slice.
func (w *nodeWrite) slice() error {
	obj, verb := w.Object, "create"
	switch {
	case !w.config.since("1.30"), w.Operation == Update, w.Operation == Delete && !w.config.since("1.31"):
		return nil
	case w.Operation == Delete:
		obj, verb = w.Old, "delete"
	}
	on := obj.At("spec", "nodeName")
	if !w.config.since("1.31") {
		on = obj.Get("nodeName")
	}
	if !on.Equals(w.node) {
		return w.forbidf("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	return nil
}

// claimStatuses refuses to change which claims on devices were made for a pod.
func (w *nodeWrite) claimStatuses() error {
	status, old := w.Object.Get("status"), w.Old.Get("status")
	changed := func(member string) bool { return !sameOrNone(status.Get(member), old.Get(member)) }
	switch {
	case w.config.since("1.28") && changed("resourceClaimStatuses"):
		return w.forbidf("node %q cannot update resource claim statues", w.node)
	case w.config.since("1.34") && changed("extendedResourceClaimStatus"):
		return w.forbidf("node %q cannot update extended resource claim status", w.node)
	}
	return nil
}
