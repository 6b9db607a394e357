package compare

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

var magic = []byte{0x6b, 0x38, 0x73, 0}

func binary(a *Answer) bool { return bytes.HasPrefix(a.Body, magic) }

// binary compares two binary answers as trees of numbered fields, since the tool has no schema for them.
func (d *stepDiff) binary(want, got *Answer) {
	if binary(want) != binary(got) {
		d.add("binary", fmt.Sprintf("%s form", status(want)), want.Header.Get("Content-Type"), got.Header.Get("Content-Type"))
		return
	}
	w, werr := tree(want.Body[4:], 0)
	g, gerr := tree(got.Body[4:], 0)
	if werr != nil || gerr != nil {
		if (werr != nil) != (gerr != nil) {
			d.add("binary", fmt.Sprintf("%s decoding", status(want)), fmt.Sprint(werr), fmt.Sprint(gerr))
		}
		return
	}
	if want.Status >= 400 {
		refusalOnly(w)
		refusalOnly(g)
	}
	var ch []change
	diff("", "", "", mask(w, d.session.want), mask(g, d.session.got), &ch)
	for i, c := range ch {
		if i == 3 {
			break
		}
		d.add("binary", fmt.Sprintf("%s binary %s%s", status(want), c.sign, c.general), shownSide(c, "+", c.want), shownSide(c, "-", c.got))
	}
}

// refusalOnly leaves of a binary Status the members without sentences: status, reason and
// code.
func refusalOnly(m map[string]any) {
	l, _ := m["2"].([]any)
	for _, x := range l {
		if o, ok := x.(map[string]any); ok {
			for k := range o {
				if k != "2" && k != "4" && k != "6" {
					delete(o, k)
				}
			}
		}
	}
}

// tree reads a message into field number -> values; bytes that are printable stay strings, others are tried as messages.
func tree(b []byte, depth int) (map[string]any, error) {
	out := map[string]any{}
	for len(b) > 0 {
		tag, n := uvarint(b)
		if n == 0 || tag>>3 == 0 || tag>>3 > 1<<20 {
			return nil, errors.New("bad tag")
		}
		b = b[n:]
		var v any
		switch tag & 7 {
		case 0:
			x, n := uvarint(b)
			if n == 0 {
				return nil, errors.New("truncated number")
			}
			b = b[n:]
			v = int64(x)
		case 1, 5:
			l := 8
			if tag&7 == 5 {
				l = 4
			}
			if len(b) < l {
				return nil, errors.New("truncated fixed field")
			}
			v = fmt.Sprintf("%x", b[:l])
			b = b[l:]
		case 2:
			l, n := uvarint(b)
			if n == 0 || uint64(len(b)-n) < l {
				return nil, errors.New("truncated bytes")
			}
			v = leaf(b[n:n+int(l)], depth)
			b = b[n+int(l):]
		default:
			return nil, errors.New("bad wire type")
		}
		k := fmt.Sprint(tag >> 3)
		l, _ := out[k].([]any)
		out[k] = append(l, v)
	}
	return out, nil
}

func leaf(b []byte, depth int) any {
	if len(b) == 0 {
		return ""
	}
	if !printable(b) && depth < 30 {
		if m, err := tree(b, depth+1); err == nil {
			return m
		}
	}
	return string(b)
}

func printable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if r < 0x20 && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

func uvarint(b []byte) (uint64, int) {
	var x uint64
	for i := 0; i < len(b) && i < 10; i++ {
		x |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return x, i + 1
		}
	}
	return 0, 0
}

// mask hides versions, times and other values of the run.
func mask(v any, n *normalizer) any {
	switch c := v.(type) {
	case map[string]any:
		for k, x := range c {
			c[k] = mask(x, n)
		}
		if l, ok := c["1"].([]any); ok && len(c) == 1 && len(l) == 1 && l[0] == "<fields>" {
			return "<fields>" // whether their message looks like text depends on its length
		}
		return c
	case []any:
		for i, x := range c {
			c[i] = mask(x, n)
		}
		return c
	case int64:
		if n.near(time.Unix(c, 0)) {
			return "<time>"
		}
		if c >= 30000 && c <= lastPort {
			return "<port>"
		}
	case string:
		if c != "0" && c != "" && strings.Trim(c, "0123456789") == "" {
			return "<number>" // a version
		}
		if strings.Contains(c, `"f:`) { // managed fields as JSON text: compared in JSON answers
			return "<fields>"
		}
		if strings.HasPrefix(c, "10.") {
			return "<ip>"
		}
		return n.str("", c)
	}
	return v
}
