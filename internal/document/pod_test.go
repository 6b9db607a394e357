package document

import "testing"

// TestPod: a stored pod is canonical, so every reader gives back its bytes.
func TestPod(t *testing.T) {
	table, pod := podTable(t), readPod(t)
	dec := Decoder{Table: table}
	for name, in := range map[string][]byte{"as stored": pod, "as kubectl sends it": sortedPod(t)} {
		d, problems, err := dec.Decode(table.Root("Pod"), in)
		if err != nil || len(problems) > 0 {
			t.Fatal(name, err, problems)
		}
		if got := string(d.Root().AppendJSON(nil)); got != string(pod) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, pod)
		}
		d.Release()
	}
	d, err := ReadStored(table, table.Root("Pod"), pod)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if got := string(d.Root().AppendJSON(nil)); got != string(pod) {
		t.Errorf("ReadStored:\ngot  %s\nwant %s", got, pod)
	}
}
