package compat

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reported is a report with an error and a warning.
func reported(t *testing.T, config string) *Report {
	t.Helper()
	o := Options{Now: day}
	if config != "" {
		c, err := parseConfig("compat.yaml", []byte(config), nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Config = c
	}
	base := readBase(t)
	return Compare(loaded(t, base, nil), loaded(t, base, []edit{{coupon, "maxLength: 20", "maxLength: 19"}, {shop, "[ord, o]", "[ord]"}}), o)
}

func TestFormats(t *testing.T) {
	r := reported(t, "")
	for format, want := range map[string]string{
		"human":  "schemas/shop/v1beta1/Coupon.yaml:10: error bounds-tightened: shop/v1beta1.Coupon.spec.code is a narrower text: it may have 19 characters only; keep the bound, or warn with a hook\n1 errors, 1 warnings; 5 resources, ",
		"github": "::error file=schemas/shop/v1beta1/Coupon.yaml,line=10,title=bounds-tightened::shop/v1beta1.Coupon.spec.code is",
		"json":   `"rule": "bounds-tightened"`,
		"sarif":  `"ruleId": "bounds-tightened"`,
		"junit":  `<failure message="shop/v1beta1.Coupon.spec.code is a narrower text`,
	} {
		var out bytes.Buffer
		if err := r.Write(&out, format); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: error %v\n%s", format, err, out.String())
		}
		var v any
		switch format {
		case "json", "sarif":
			if err := json.Unmarshal(out.Bytes(), &v); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		case "junit":
			var suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Cases    []struct {
					Name string `xml:"name,attr"`
				} `xml:"testcase"`
			}
			if err := xml.Unmarshal(out.Bytes(), &suite); err != nil || suite.Failures != 1 || len(suite.Cases) != suite.Tests || suite.Tests < 80 {
				t.Errorf("junit: %+v %v", suite, err)
			}
		}
	}
	if err := r.Write(&bytes.Buffer{}, "html"); err == nil || !strings.Contains(err.Error(), "write one of human, json") {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	const accepted = "accepted:\n- {rule: bounds-tightened, element: shop/v1beta1.Coupon.spec.code, reason: nobody has longer ones, until: "
	for _, c := range []struct{ config, want string }{
		{"", "E:bounds-tightened W:resource-short-name-removed"},
		{"levels: {bounds-tightened: warning, resource-short-name-removed: \"off\"}", "W:bounds-tightened"},
		{"levels: {resource-short-name-removed: error}", "E:bounds-tightened E:resource-short-name-removed"},
		{accepted + "2027-01-01}", "W:resource-short-name-removed"},
		{strings.Replace(accepted, ".spec.code", ".*", 1) + "2027-01-01}", "W:resource-short-name-removed"},
		{accepted + "2026-01-01}", "E:acceptance-stale E:bounds-tightened W:resource-short-name-removed"},
		{strings.Replace(accepted, "code", "cod", 1) + "2027-01-01}", "E:acceptance-stale E:bounds-tightened W:resource-short-name-removed"},
	} {
		if r := reported(t, c.config); verdict(r.Findings) != c.want || strings.Contains(c.want, "bounds") == (len(r.Accepted) == 1) {
			t.Errorf("%s: %v, accepted %v, want %s", c.config, r.Findings, r.Accepted, c.want)
		}
	}
	for config, want := range map[string]string{
		"levels: {none: error}":         `compat.yaml:1: there is no rule "none"`,
		"levels: {field-removed: loud}": `compat.yaml:1: there is no level "loud"`,
		"level: {}":                     "the keys are levels and accepted",
		"accepted:\n- {rule: field-removed, element: x, until: 2027-01-01}":                  "compat.yaml:2: an accepted finding needs its element and a reason",
		"accepted:\n- {rule: field-removed, element: x, reason: y, until: soon}":             `compat.yaml:2: the end "soon" of an accepted finding is not a date`,
		"accepted:\n- {rule: nothing, element: x, reason: y, until: 2027-01-01}":             `there is no rule "nothing"`,
		"accepted:\n- {rule: field-removed, element: x, reason: y, until: 2027-01-01, a: b}": "compat.yaml:2: ",
	} {
		if _, err := parseConfig("compat.yaml", []byte(config), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", config, err, want)
		}
	}
}

// A baseline is complete, or an error that names the missing parts.
func TestBaseline(t *testing.T) {
	base := readBase(t)
	delete(base, "release.yaml")
	root := write(t, base)
	open := func() error {
		_, err := Baseline(root, day)
		return err
	}
	expect := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	expect(open(), "there is no release to compare shop/v1, shop/v1alpha1, shop/v1beta1 with; take it from version control, or write one with release-baseline --version VERSION")
	none := filepath.Join(root, filepath.FromSlash(Released), "release.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(none), 0o700), os.WriteFile(none, []byte("version: v0.0.0\ndate: 2020-01-01\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if nothing, err := Baseline(root, day); err != nil || !nothing.Release.None() {
		t.Errorf("before the first release: %v", err)
	}
	if err := WriteBaseline(root, "1.5", day.AddDate(0, -6, 0)); err != nil {
		t.Fatal(err)
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	if err := WriteBaseline(root, "1.6", day); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, filepath.FromSlash(Released))
	r, err := ReadRelease(dir)
	if err != nil || r.Version != "1.6" || len(r.Earlier) != 1 || r.Earlier[0].Version != "1.5" || r.Served["shop/v1"] != "1.5" || r.Deprecated["shop/v1beta1/orders"] != "1.3" || r.Resources != 5 {
		t.Errorf("release %+v, error %v", r, err)
	}
	expect(WriteBaseline(root, "v1.7.0", day), "the last release is 1.6: write v1.7.0 in the same form")
	expect(WriteBaseline(root, "next", day), "is not a version")
	expect(WriteBaseline(root, "1.4", day), "the last release is 1.6, which is later than 1.4")
	change := func(name, old, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		was, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(was), old) {
			t.Fatal(name, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(was), old, text, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("release.yaml", "resources: 5", "resources: 6")
	old, err := Baseline(root, day)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdict(Compare(old, now, Options{Now: day}).Findings); got != "E:comparison-shrunk" {
		t.Errorf("a smaller comparison: %s", got)
	}
	change("release.yaml", day.Format(dateForm), "2031-01-01")
	expect(open(), "release.yaml:1: the release 1.6 is of 2031-01-01, in the future; set the clock, or the date")
	change("release.yaml", "2031-01-01", "yesterday")
	expect(open(), `the date "yesterday" is not a date`)
	change("release.yaml", "yesterday", day.Format(dateForm))
	change("release.yaml", "    shop/v1alpha1: \"1.5\"\n", "")
	expect(open(), "does not say when shop/v1alpha1 was served first")
	if err := os.Remove(filepath.Join(dir, "openapi", "shop", "v1beta1.yaml")); err != nil {
		t.Fatal(err)
	}
	expect(open(), "the baseline is not complete: 1.6 served shop/v1beta1, whose documents are missing")
	if err := os.RemoveAll(filepath.Join(dir, "schemas")); err != nil {
		t.Fatal(err)
	}
	expect(open(), "the released documents cannot be read")
}
