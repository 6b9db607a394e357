package configfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	type inner struct {
		N    int      `yaml:"n"`
		List []string `yaml:"list"`
	}
	var into struct {
		Items []inner `yaml:"items"`
	}
	path := filepath.Join(t.TempDir(), "f")
	read := func(text string) error {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v, err := Read(path)
		if err == nil {
			err = v.Is("K", "g/v1")
		}
		if err == nil {
			err = v.Decode(&into)
		}
		return err
	}
	if err := read("apiVersion: g/v1\nkind: K\nitems: [{n: 3, list: [a]}]\n"); err != nil || into.Items[0].N != 3 || into.Items[0].List[0] != "a" {
		t.Errorf("%v, %+v", err, into)
	}
	for want, text := range map[string]string{
		":1: the file is empty":                   "# nothing\n",
		":2: did not find expected":               "a: b\nc: [\n",
		`:1: kind "L" of "g/v1" is not`:           "apiVersion: g/v1\nkind: L\n",
		`:4: unknown field "m"`:                   "apiVersion: g/v1\nkind: K\nitems:\n- {n: 1, m: 2}\n",
		":3: cannot unmarshal !!str `x` into int": "apiVersion: g/v1\nkind: K\nitems: [{n: x}]\n",
		`:3: mapping key "kind" already defined`:  "apiVersion: g/v1\nkind: K\nkind: K\n",
		":1: cannot unmarshal !!seq into struct":  "[]\n",
		":3: cannot unmarshal !!seq into":         "apiVersion: g/v1\nkind: K\nitems: &a [*a]\n",
	} {
		if err := read(text); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path+":") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Read(path + "-gone"); !os.IsNotExist(err) {
		t.Error(err)
	}
}
