package compat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// groupVersion compares the resources and kinds of a directory.
func (c *comparison) groupVersion(old, now *version) {
	u := use{Request | Response | Stored, stabilityOf(old.Stability)}
	if !old.Served {
		u.stable = stable
	}
	if old.Served && (now == nil || !now.Served) {
		for _, r := range old.resources {
			c.gone(old, r)
		}
		if len(old.resources) == 0 && !c.differ() { // published documents have kinds of others, as Status
			c.findOld(u, "group-version-removed", old.Pos, old.Dir, "is no longer served")
		}
		return
	}
	if old.Served && old.Group != now.Group && !c.suffixChanged() {
		c.find(u, "group-renamed", now.Pos, old.Dir, "was the group %s and is %s", old.Group, now.Group)
	}
	if old.Served && now.Unlisted && !old.Unlisted && !c.differ() {
		c.find(u, "group-version-unlisted", now.Pos, old.Dir, "is no longer in discovery")
	}
	for _, r := range old.resources {
		c.resource(old, r, now)
	}
}

// peer is the group version of the new side that stands for one of the old side: of the
// same folder, or of the same name where a side has no folders.
func (c *comparison) peer(v *model.GroupVersion) *version {
	if c.both(facetGo) {
		return c.now.find(v.Dir)
	}
	return c.now.served(v.Group, v.Version)
}

// differ reports whether the sides come from sources of two kinds.
func (c *comparison) differ() bool { return c.old.knows != c.now.knows }

// kindLike is the kind of the new side that stands for one of the old side.
func (c *comparison) kindLike(k *kind) *kind {
	if c.both(facetGo) {
		return c.now.kinds[k.id]
	}
	if v := c.peer(k.of); v != nil {
		return c.now.kinds[v.Dir+"."+k.name]
	}
	return nil
}

// kinds compares the types that clients exchange as a whole.
func (c *comparison) kinds() {
	for _, id := range sorted(c.old.kinds) {
		k := c.old.kinds[id]
		if v := c.peer(k.of); k.of.Served && (v == nil || !v.Served) {
			c.pass(k.shape)
			continue // its resources are reported
		}
		if now := c.kindLike(k); now != nil {
			c.shapes(k.shape, now.shape, id)
			continue
		}
		c.pass(k.shape)
		if method, rest, ok := strings.Cut(k.name, " "); ok { // of an operation, which is reported
			path, _, _ := strings.Cut(rest, " ")
			if r := c.peer(k.of).resource(path); r == nil || !slices.Contains(r.Verbs, method) {
				continue
			}
		}
		v := c.old.find(k.of.Dir)
		if !c.both(facetGo) && c.differ() &&
			(v == nil || !slices.ContainsFunc(v.resources, func(r *model.Resource) bool { return r.Type != nil && r.Type.ID == id })) {
			continue // one side does not describe all types
		}
		if v == nil || !slices.ContainsFunc(v.resources, func(r *model.Resource) bool { return r.Type != nil && r.Type.ID == id }) {
			c.findOld(k.shape.use, "type-removed", k.shape.pos, id, "is gone")
		}
	}
}

// gone reports a resource that a version no longer has, unless its time was over.
func (c *comparison) gone(v *version, old *model.Resource) {
	u := use{Request | Response | Stored, stabilityOf(v.Stability)}
	rule, path := "resource-removed", v.Dir+" "+old.Plural
	c.counts.Resources++
	if now := c.peer(v.GroupVersion); now == nil || !now.Served {
		rule = "group-version-removed"
	}
	if u.stable == alpha {
		c.findOld(u, rule, old.Pos, path, "is gone")
		return
	}
	if why := c.stays(u, v.Dir+"/"+old.Plural, old.Deprecation); why != "" {
		c.findOld(u, rule, old.Pos, path, "is gone: %s", why)
		return
	}
	c.findOld(u, "resource-ended", old.Pos, path, "has come to its announced end")
}

// stays is the reason why something with that end may not go in the next release; "" when it may. key is its key in a
// record of releases.
func (c *comparison) stays(u use, key string, end model.Deprecation) string {
	why := c.timeLeft(c.announced(key, end), u.stable)
	if why == "" && end.RemovedIn != "" && c.next().before(end.RemovedIn) {
		why = "its end was announced for " + end.RemovedIn
	}
	return why
}

// announced is the release that first said that a resource or an action is deprecated; "" for none.
func (c *comparison) announced(key string, end model.Deprecation) string {
	known := c.old.Release
	if known == nil {
		return end.DeprecatedSince
	}
	if at := known.Deprecated[key]; at != "" {
		return at
	}
	if end.DeprecatedSince != "" && !known.before(end.DeprecatedSince) {
		return end.DeprecatedSince
	}
	return ""
}

// timeLeft is the reason why a version that was deprecated in a release may not go in the
// next one; "" when it may.
func (c *comparison) timeLeft(announced string, s stability) string {
	next, known := c.next(), c.old.Release
	switch {
	case s == stable && (known == nil || next.major() == known.major()):
		return "a stable version stays within a major version"
	case announced == "":
		return "no release has announced it"
	case s == stable:
		return ""
	case known == nil:
		return "it is not known when it was deprecated, since the old side has no release.yaml"
	}
	if n := next.releasesSince(announced); n < 3 {
		return fmt.Sprintf("it was deprecated in %s, %d releases ago, and stays for 3", announced, n)
	}
	date, ok := known.dateOf(announced)
	switch {
	case !ok:
		return "release.yaml has no date of " + announced + ", in which it was deprecated"
	case date.AddDate(0, 9, 0).After(next.date()):
		return fmt.Sprintf("it was deprecated on %s and stays for 9 months", date.Format(dateForm))
	}
	return ""
}

// deprecation compares the announcements about a resource.
func (c *comparison) deprecation(u use, path string, v *version, old, now *model.Resource) {
	find := func(rule, format string, args ...any) { c.find(u, rule, now.Pos, path, format, args...) }
	group, version, kind := replacementOf(now.Replacement)
	if version != "" && stabilityOfName(version) < u.stable && now.Replacement != old.Replacement {
		find("resource-replacement-unstable", "gives way to %s, which is less stable", now.Replacement)
	}
	if now.DeprecatedSince != "" && (old.DeprecatedSince == "" || now.Replacement != old.Replacement) && u.stable > alpha && !c.suffixChanged() {
		others := c.successors(v, now)
		served := func(o *model.GroupVersion) bool {
			return stabilityOf(o.Stability) >= u.stable && c.old.served(o.Group, o.Version).hasKind(now.Kind)
		}
		switch {
		case version != "" && stabilityOfName(version) >= u.stable && !c.old.served(group, version).hasKind(cmp.Or(kind, now.Kind)):
			find("deprecated-before-successor", "is deprecated for %s, which no release has served", now.Replacement)
		case version == "" && old.DeprecatedSince == "" && len(others) > 0 && !slices.ContainsFunc(others, served):
			find("deprecated-before-successor", "is deprecated, and no release has served a version of it that is as stable")
		}
	}
	c.endDate(u, path, now.Pos, v.Dir+"/"+now.Plural, old.Deprecation, now.Deprecation)
}

// endDate compares the release in which a resource or an action is to go.
func (c *comparison) endDate(u use, path string, pos schema.Position, key string, old, now model.Deprecation) {
	find := func(rule, format string, args ...any) { c.find(u, rule, pos, path, format, args...) }
	if now.RemovedIn == old.RemovedIn || now.RemovedIn == "" || u.stable == alpha {
		return
	}
	known := c.old.Release
	announced := c.announced(key, old)
	if announced == "" && known != nil {
		announced = c.next().Version
	}
	switch from := cmpVersion(now.DeprecatedSince, announced); {
	case u.stable == stable && (known == nil || Release{Version: now.RemovedIn}.major() == known.major()):
		find("stable-end-date", "is to go in %s; a stable version stays within a major version", now.RemovedIn)
	case old.RemovedIn != "" && Release{Version: now.RemovedIn}.before(old.RemovedIn):
		find("end-date-earlier", "was to go in %s and is to go in %s", old.RemovedIn, now.RemovedIn)
	case from != "" && (Release{Version: now.RemovedIn}).releasesSince(from) < 3 && u.stable == beta:
		find("end-date-earlier", "is to go in %s, less than 3 releases after %s", now.RemovedIn, from)
	}
}

// cmpVersion is the later of two releases.
func cmpVersion(a, b string) string {
	if a == "" || b != "" && (Release{Version: a}).before(b) {
		return b
	}
	return a
}

// replacementOf takes apart group/version.Kind, or group/version Kind.
func replacementOf(text string) (group, version, kind string) {
	text, kind, _ = strings.Cut(text, " ")
	slash := strings.LastIndexByte(text, '/')
	group, version = text[:max(slash, 0)], text[slash+1:]
	if dot := strings.IndexByte(version, '.'); dot >= 0 {
		version, kind = version[:dot], version[dot+1:]
	}
	if group == "core" {
		group = ""
	}
	return group, version, kind
}

// successors are the other versions of a resource that are as stable.
func (c *comparison) successors(v *version, r *model.Resource) (others []*model.GroupVersion) {
	for _, o := range c.now.versions {
		if o.Served && o.Dir != v.Dir && o.Group == v.Group && o.hasKind(r.Kind) {
			others = append(others, o.GroupVersion)
		}
	}
	return others
}

func (v *version) hasKind(kind string) bool {
	return v != nil && slices.ContainsFunc(v.resources, func(o *model.Resource) bool { return o.Kind == kind })
}

func stabilityOfName(version string) stability {
	switch {
	case strings.Contains(version, "alpha"):
		return alpha
	case strings.Contains(version, "beta"):
		return beta
	}
	return stable
}

// preferred checks that the preferred version of a group is one that clients of the last
// release know, and as stable as before. The storage of resources that a version did not
// have before is checked too.
func (c *comparison) preferred() {
	was, is := c.old.preferred(), c.now.preferred()
	for _, v := range c.now.versions {
		old := was[v.Group]
		if !v.Served || old == nil {
			continue
		}
		u := use{Request | Response | Stored, stable}
		if is[v.Group] == v.GroupVersion && old.Version != v.Version && c.both(facetPriority) {
			switch {
			case c.old.find(v.Dir) == nil:
				c.find(u, "preferred-version-advanced", v.Pos, v.Group, "prefers %s, which the last release did not serve, and not %s", v.Version, old.Version)
			case stabilityOf(v.Stability) < stabilityOf(old.Stability):
				c.find(u, "preferred-version-less-stable", v.Pos, v.Group, "prefers %s, which is less stable than %s", v.Version, old.Version)
			}
		}
		c.newResources(v)
	}
}

// newResources checks the storage of resources that a version has for the first time, while
// another one had them.
func (c *comparison) newResources(v *version) {
	for _, r := range v.resources {
		if c.old.find(v.Dir).resource(r.Plural) != nil || !r.Stored || r.StoredAs != nil || !c.both(facetStorage) {
			continue
		}
		for _, o := range c.old.versions {
			if old := o.resource(r.Plural); old != nil && o.Group == v.Group && old.Stored && c.now.find(o.Dir).resource(r.Plural) == nil {
				c.readable(use{Stored, stabilityOf(o.Stability)}, v, r)
				break
			}
		}
	}
}

// preferred are the versions that discovery names first, by their groups.
func (s *Surface) preferred() map[string]*model.GroupVersion {
	groups := make([]*model.GroupVersion, len(s.versions))
	for i, v := range s.versions {
		groups[i] = v.GroupVersion
	}
	return model.Preferred(groups)
}
