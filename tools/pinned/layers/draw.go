package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// The measures of the picture, in pixels.
const (
	width    = 900
	margin   = 10 // around the picture, and left and right of a box
	gap      = 30 // between two rows, for the arrows
	line     = 19 // of text
	letter   = 7  // of the text of a box, in the widest of the usual fonts
	padding  = 12 // in a box, left and right
	headroom = 8  // in a box, above and below the text
)

// The colours: dark text on light boxes, and a grey that is seen on white and on black.
const (
	paper, frame, ink, faded, grey = "#e9eef6", "#8794a8", "#1a2431", "#4d5b6e", "#7d8898"
)

// box is a group with its place.
type box struct {
	*group
	x, y, w, h int
	lines      []string // the names of its rooms
}

// draw makes the picture. The error names an arrow that leads through a box.
func draw(h *house) ([]byte, error) {
	boxes, height := layOut(h)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" font-size="13">`+"\n", width, height, width, height)
	b.WriteString("<title>The groups of packages and their imports</title>\n")
	for _, a := range h.arrows {
		if err := arrow(&b, boxes, a); err != nil {
			return nil, err
		}
	}
	for _, x := range boxes {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="%s" stroke="%s"/>`+"\n", x.x, x.y, x.w, x.h, paper, frame)
		y := x.y + headroom + line - 6
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s"><tspan font-weight="bold">%s</tspan><tspan dx="10" fill="%s" font-style="italic">%s</tspan></text>`+"\n",
			x.x+padding, y, ink, html.EscapeString(x.name), faded, html.EscapeString(x.subject))
		for _, l := range x.lines {
			y += line
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x.x+padding, y, ink, html.EscapeString(l))
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">An arrow leads to an imported group; an import that follows from other arrows has none.</text>`+"\n",
		margin+padding, height-margin, grey)
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// layOut places the boxes: those of a row are as high as the highest one.
func layOut(h *house) (boxes []box, height int) {
	y, tall := margin, 0
	for i := range groups {
		g := &groups[i]
		if i > 0 && g.row != groups[i-1].row {
			y, tall = y+tall+gap, 0
		}
		x := box{group: g, x: margin + g.left*(width-margin)/12, y: y}
		x.w = margin + g.right*(width-margin)/12 - margin - x.x
		x.lines = wrap(names(h.rooms[i]), (x.w-2*padding)/letter)
		tall = max(tall, 2*headroom+line*(1+len(x.lines)))
		boxes = append(boxes, x)
		for j := range boxes {
			if boxes[j].row == g.row {
				boxes[j].h = tall
			}
		}
	}
	return boxes, y + tall + 2*margin + line
}

// names are those of packages without their folders.
func names(packages []string) (short []string) {
	for _, p := range packages {
		p = strings.TrimPrefix(strings.TrimPrefix(p, "server/internal/"), "internal/")
		short = append(short, p)
	}
	return short
}

func wrap(words []string, letters int) (lines []string) {
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(w) <= letters {
			lines[last] += " " + w
		} else {
			lines = append(lines, w)
		}
	}
	return lines
}

// arrow draws a vertical line, in the middle of the columns that both boxes have.
func arrow(b *bytes.Buffer, boxes []box, a [2]int) error {
	from, to := boxes[a[0]], boxes[a[1]]
	left, right := max(from.x, to.x), min(from.x+from.w, to.x+to.w)
	x, y := (left+right)/2, to.y-2
	if left >= right {
		return fmt.Errorf("%s imports %s, and they have no common column", from.name, to.name)
	}
	for _, other := range boxes {
		if other.row > from.row && other.row < to.row && other.x <= x && x <= other.x+other.w {
			return fmt.Errorf("the arrow from %s to %s leads through %s: move a group", from.name, to.name, other.name)
		}
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dM%d %dl5 8l5 -8z" fill="%s" stroke="%s" stroke-width="2"/>`+"\n", x, from.y+from.h, y-8, x-5, y-8, grey, grey)
	return nil
}
