package main

import "testing"

func TestVersions(t *testing.T) {
	for _, c := range []struct{ described, semantic, packaged string }{
		{"v1.2.3", "1.2.3", "1.2.3"},
		{"v1.2.3-rc.1", "1.2.3-rc.1", "1.2.3~rc.1"},
		{"v1.2.3-12-gabc1234", "1.2.3+12.gabc1234", "1.2.3+12.gabc1234"},
		{"v1.2.3-rc.1-12-gabc1234-dirty", "1.2.3-rc.1+12.gabc1234.dirty", "1.2.3~rc.1+12.gabc1234.dirty"},
		{"f9c35082", "0.0.0-git20261128033742.f9c35082", "0.0.0~git20261128033742.f9c35082"},
		{"f9c35082-dirty", "0.0.0-git20261128033742.f9c35082.dirty", "0.0.0~git20261128033742.f9c35082.dirty"},
	} {
		o, err := newOrigin(c.described, "", "2026-11-28T03:37:42Z")
		if err != nil || o.semantic != c.semantic || o.packaged() != c.packaged {
			t.Errorf("%s is %q, packaged %q, error %v; want %q and %q", c.described, o.semantic, o.packaged(), err, c.semantic, c.packaged)
		}
	}
	for _, wrong := range []string{"", "unknown", "v1.2"} {
		if _, err := newOrigin(wrong, "", "2026-11-28T03:37:42Z"); err == nil {
			t.Errorf("%q is a version", wrong)
		}
	}
	if _, err := newOrigin("v1.2.3", "", "yesterday"); err == nil {
		t.Error("yesterday is a time")
	}
}
