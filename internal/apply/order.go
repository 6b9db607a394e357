package apply

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// kindRank orders the kinds: fields, keys, values, positions.
func kindRank(k StepKind) int { return strings.IndexByte("fkvi", byte(k)) }

// compareSteps is the order of steps in a set.
func compareSteps(a, b Step) int {
	switch {
	case a.Kind != b.Kind:
		return cmp.Compare(kindRank(a.Kind), kindRank(b.Kind))
	case a.Kind == StepField:
		return strings.Compare(a.Text, b.Text)
	case a.Text == b.Text:
		return 0
	case a.Kind == StepKey:
		return cmp.Or(compareKeys(a.Text, b.Text), strings.Compare(a.Text, b.Text))
	}
	return compareScalars(a.Text, b.Text)
}

type keyPair struct{ name, value string }

// keyPairs takes the text of a StepKey apart.
func keyPairs(text string) []keyPair {
	var pairs []keyPair
	for rest := text; ; {
		var p keyPair
		var ok bool
		if p, rest, ok = nextPair(rest); !ok {
			return pairs
		}
		pairs = append(pairs, p)
	}
}

// nextPair takes the next name and value from the text of a StepKey.
func nextPair(text string) (p keyPair, rest string, ok bool) {
	if len(text) < 2 || text[1] != '"' {
		return keyPair{}, "", false
	}
	end := scalarEnd(text[1:]) + 1
	if end >= len(text) || text[end] != ':' {
		return keyPair{}, "", false
	}
	name, value := text[1:end], text[end+1:]
	end = scalarEnd(value)
	return keyPair{unquoted(name), value[:end]}, value[end:], true
}

// scalarEnd is the end of a value in a step. Steps hold scalars; of other values from
// clients the end may be found too early, but always the same.
func scalarEnd(text string) int {
	if text == "" || text[0] != '"' {
		if i := strings.IndexAny(text, ",}"); i >= 0 {
			return i
		}
		return len(text)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquoted is the text of a JSON string; it does not allocate for one without escapes.
func unquoted(text string) string {
	if len(text) >= 2 && strings.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	return document.Unquote([]byte(text))
}

// compareKeys compares the texts of two StepKeys pair by pair.
func compareKeys(a, b string) int {
	for {
		x, restA, okA := nextPair(a)
		y, restB, okB := nextPair(b)
		switch {
		case !okA && !okB:
			return 0
		case !okA:
			return -1
		case !okB:
			return 1
		}
		if c := cmp.Or(strings.Compare(x.name, y.name), compareScalars(x.value, y.value)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
}

// compareScalars orders JSON values: numbers, strings, booleans, the rest.
func compareScalars(a, b string) int {
	if x, y := scalarRank(a), scalarRank(b); x != y {
		return cmp.Compare(x, y)
	}
	switch scalarRank(a) {
	case 0:
		x, err1 := strconv.ParseInt(a, 10, 64)
		y, err2 := strconv.ParseInt(b, 10, 64)
		if err1 == nil && err2 == nil {
			return cmp.Compare(x, y)
		}
		f, _ := strconv.ParseFloat(a, 64)
		g, _ := strconv.ParseFloat(b, 64)
		if c := cmp.Compare(f, g); c != 0 {
			return c
		}
	case 1:
		if c := strings.Compare(unquoted(a), unquoted(b)); c != 0 {
			return c
		}
	}
	return strings.Compare(a, b)
}

func scalarRank(text string) int {
	switch {
	case text == "":
		return 6
	case text[0] == '"':
		return 1
	case text[0] == 't' || text[0] == 'f':
		return 2
	case text[0] == '[':
		return 3
	case text[0] == '{':
		return 4
	case text[0] == 'n':
		return 5
	}
	return 0
}
