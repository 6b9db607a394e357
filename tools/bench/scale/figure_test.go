package scale

import (
	"bytes"
	"fmt"
	"math"
)

// draw draws each cost against the number of objects, as an SVG.
func draw(all []point) []byte {
	const width, height, left, top = 270, 130, 30, 40
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", 3*(width+left)+left, 2*(height+2*top))
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	from, to := math.Log(float64(all[0].objects)), math.Log(float64(all[len(all)-1].objects))
	for i, c := range curves {
		x0, y0 := left+i%3*(width+left), top+i/3*(height+2*top)
		most := c.bound
		for _, p := range all {
			most = max(most, p.costs[i])
		}
		at := func(p point) (x, y float64) {
			return float64(x0) + (width-40)*(math.Log(float64(p.objects))-from)/max(to-from, 1), float64(y0) + height*(1-p.costs[i]/most)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-weight="bold">%s (%s)</text>`+"\n", x0, y0-22, c.name, c.unit)
		limit := float64(y0) + height*(1-c.bound/most)
		fmt.Fprintf(&b, `<path d="M%d %.1fh%d" stroke="#b22" stroke-dasharray="4 3"/><text x="%d" y="%.1f" fill="#b22" text-anchor="end">%g</text>`+"\n", x0, limit, width, x0+width, limit-3, c.bound)
		fmt.Fprintf(&b, `<path d="M%d %dh%d" stroke="#888"/>`+"\n", x0, y0+height, width)
		b.WriteString(`<polyline fill="none" stroke="#247" stroke-width="2" points="`)
		for _, p := range all {
			x, y := at(p)
			fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
		}
		b.WriteString("\"/>\n")
		for _, p := range all {
			x, y := at(p)
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="#247"/><text x="%.1f" y="%.1f">%.4g</text><text x="%.1f" y="%d" fill="#666">%dk</text>`+"\n", x, y, x+4, y-6, p.costs[i], x, y0+height+14, p.objects/1000)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
