package compat

import (
	"cmp"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// action compares an action at a place, nil for none, or for a published one of releases that say nothing of actions.
func (c *comparison) action(u use, path string, pos schema.Position, old, now *model.Action) {
	if old == nil || now == nil {
		return // another endpoint
	}
	find := func(rule, format string, args ...any) { c.find(u, rule, pos, path, format, args...) }
	if was, is := c.answer(old), c.answer(now); was != is && was != "" && is != "" {
		find("action-answer-changed", "answered %s and answers %s", was, is)
	}
	if old.Verb != now.Verb {
		find("action-verb-changed", "needed the right to %s and needs that to %s", cmp.Or(old.Verb, "its method"), cmp.Or(now.Verb, "its method"))
	}
	switch {
	case old.Streams() != now.Streams():
		answers := map[bool]string{true: "a sequence of objects", false: "one object"}
		find("action-effect-changed", "answers with %s, and it was %s", answers[now.Streams()], answers[old.Streams()])
	case old.Effect == "reads" && now.Effect == "writes":
		find("action-writes", "only read and writes")
	case old.Effect == "writes" && now.Effect == "reads":
		find("action-effect-changed", "wrote and only reads")
	}
}

// goneSubresource reports a subresource that a resource no longer has, unless it is an action whose time was over.
func (c *comparison) goneSubresource(u use, path string, v *version, old *model.Subresource, res *model.Resource) {
	if old.Action == nil || old.Action.DeprecatedSince == "" || u.stable == alpha {
		c.find(u, "subresource-removed", res.Pos, path, "is gone")
		return
	}
	if why := c.stays(u, v.Dir+"/"+res.Plural+"/"+old.Name, old.Action.Deprecation); why != "" {
		c.find(u, "subresource-removed", res.Pos, path, "is gone: %s", why)
		return
	}
	c.find(u, "resource-ended", res.Pos, path, "has come to its announced end")
}

// answer is the kind with which an action answers, "" for an unknown one. Only documents have the names of folders.
func (c *comparison) answer(a *model.Action) string {
	switch {
	case a.Answer == nil:
		return ""
	case c.both(facetGo):
		return a.Answer.ID
	}
	return a.Answer.GV.Group + "/" + a.Answer.GV.Version + "." + a.Answer.Name
}

// performed is the action that a published operation performs, nil for none.
func (m *manifest) performed(s *Surface, op place) *model.Action {
	effect := op.Extension("effect").Text()
	if effect == "" {
		return nil
	}
	a := &model.Action{Pos: m.Position(op), Effect: effect, Verb: op.Extension("verb").Text()}
	op.At("responses").Each(func(code string, _, answer place) {
		if !strings.HasPrefix(code, "2") {
			return
		}
		answer.At("content").Each(func(_ string, _, value place) {
			if ref, ok := m.reference(value.At("schema")); ok {
				a.Answer = s.component(m.components.At(strings.TrimPrefix(ref.Text(), "#/components/schemas/")))
			}
		})
	})
	return a
}

// component is the kind of a published schema, nil for none.
func (s *Surface) component(at place) *model.Type {
	rows := at.Extension("group-version-kind").Items()
	if len(rows) != 1 {
		return nil
	}
	v := s.served(rows[0].At("group").Text(), rows[0].At("version").Text())
	if v == nil {
		return nil
	}
	return s.typeOf(v, rows[0].At("kind").Text())
}
