package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"
)

// tableOf is the table of the phases: each cost of capstan, and how often the others' cost is it.
func tableOf(s *settings, all []measured) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d nodes, %d pods, %d deployments\n\n| phase |", s.nodes, s.pods, s.deployments)
	for i, m := range all {
		fmt.Fprintf(&b, " %s: CPU, wall |", m.Kind)
		if i > 0 {
			b.WriteString(" ratio of CPU |")
		}
	}
	b.WriteString("\n| --- |")
	for range 2*len(all) - 1 {
		b.WriteString(" --- |")
	}
	for row, first := range all[0].Phases {
		fmt.Fprintf(&b, "\n| %s |", first.Name)
		for i, m := range all {
			p := m.Phases[row]
			fmt.Fprintf(&b, " %.2f s%s, %.1f s |", p.CPU.Seconds(), etcdOf(p), p.Wall.Seconds())
			if i > 0 {
				fmt.Fprintf(&b, " %.1f |", p.CPU.Seconds()/max(first.CPU.Seconds(), 0.01))
			}
		}
	}
	last := len(all[0].Phases) - 1
	fmt.Fprint(&b, "\n| memory, peak |")
	for i, m := range all {
		fmt.Fprintf(&b, " %d MiB |", m.Phases[last].Peak>>20)
		if i > 0 {
			fmt.Fprintf(&b, " %.1f |", float64(m.Phases[last].Peak)/float64(all[0].Phases[last].Peak))
		}
	}
	b.WriteString("\n\n" + latencyTable(all))
	return b.String()
}

// etcdOf is the part of etcd, if there is one.
func etcdOf(p phase) string {
	if p.Etcd == 0 {
		return ""
	}
	return fmt.Sprintf(" (etcd %.2f)", p.Etcd.Seconds())
}

// latencyTable has the latencies of the rollover.
func latencyTable(all []measured) string {
	var b bytes.Buffer
	b.WriteString("Latency in the rollover, seen by controllers and scheduler, in milliseconds: p50, p99\n\n| verb |")
	for _, m := range all {
		fmt.Fprintf(&b, " %s |", m.Kind)
	}
	b.WriteString("\n| --- |")
	for range all {
		b.WriteString(" --- |")
	}
	const rollover = 2
	for _, verb := range slices.Sorted(maps.Keys(all[0].Phases[rollover].Latency)) {
		fmt.Fprintf(&b, "\n| %s |", verb)
		for _, m := range all {
			l := m.Phases[rollover].Latency[verb]
			fmt.Fprintf(&b, " %.1f, %.1f (%.0f) |", 1000*l.P50, 1000*l.P99, l.Requests)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// figureOf draws the time of the CPU of each phase as bars, as an SVG.
func figureOf(all []measured) []byte {
	const left, width, bar, gap, head = 110, 460, 14, 14, 34
	colours := []string{"#247", "#b52", "#999"}
	longest := time.Millisecond
	for _, m := range all {
		for _, p := range m.Phases {
			longest = max(longest, p.CPU)
		}
	}
	var b bytes.Buffer
	phases := all[0].Phases
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n",
		left+width+70, head+len(phases)*(len(all)*bar+gap))
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, m := range all {
		fmt.Fprintf(&b, `<text x="%d" y="18" fill="%s">%s</text>`+"\n", left+i*150, colours[i%len(colours)], m.Kind)
	}
	for row, first := range phases {
		top := head + row*(len(all)*bar+gap)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, top+bar, first.Name)
		for i, m := range all {
			cpu := m.Phases[row].CPU
			w := float64(width) * float64(cpu) / float64(longest)
			y := top + i*bar
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%.2f s</text>`+"\n",
				left, y, w, bar-2, colours[i%len(colours)], left+w+4, y+bar-3, cpu.Seconds())
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
