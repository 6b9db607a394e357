package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// DefaultContainer sets the pull policy: an image that can change under its
// name is always pulled.
func (Policy) DefaultContainer(c document.Value) { defaultPullPolicy(c) }

// DefaultEphemeralContainer is DefaultContainer for ephemeral containers.
func (Policy) DefaultEphemeralContainer(c document.Value) { defaultPullPolicy(c) }

func defaultPullPolicy(c document.Value) {
	if c.Get("imagePullPolicy").Text() != "" {
		return
	}
	policy := "IfNotPresent"
	if tag, pinned := imageTag(c.Get("image").Text()); !pinned && (tag == "" || tag == "latest") {
		policy = "Always"
	}
	c.SetString("imagePullPolicy", policy)
}

// imageTag finds the tag of an image reference; pinned says that a digest fixes
// it. "host:5000/app" has no tag, "app:1" has.
func imageTag(image string) (tag string, pinned bool) {
	name, _, pinned := strings.Cut(image, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		tag = name[i+1:]
	}
	return tag, pinned
}

// DefaultPodSpec gives the containers of a pod in the host's network the host
// ports that they have anyway.
func (Policy) DefaultPodSpec(spec document.Value) {
	if !spec.Get("hostNetwork").Bool() {
		return
	}
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range spec.Get(list).Elements() {
			for _, port := range c.Get("ports").Elements() {
				if n, _ := port.Get("hostPort").Int(); n != 0 {
					continue
				}
				if n, ok := port.Get("containerPort").Int(); ok {
					port.SetInt("hostPort", n)
				}
			}
		}
	}
}

// volumeSourceFields are the members of a volume that are not its source.
var volumeSourceFields = map[string]bool{"name": true}

// DefaultVolume makes a volume without a source an empty directory.
func (Policy) DefaultVolume(v document.Value) {
	for name := range v.Members() {
		if !volumeSourceFields[name] {
			return
		}
	}
	v.SetObject("emptyDir")
}

// requestsFromLimits requests what is limited and not requested.
func requestsFromLimits(c document.Value) {
	limits := c.At("resources", "limits")
	if limits.Len() == 0 {
		return
	}
	requests := c.SetObject("resources").SetObject("requests")
	for name, amount := range limits.Members() {
		if !requests.Get(name).Exists() {
			requests.Put(name, amount)
		}
	}
}
