import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { isDark } from "../theme";
import type { Plotted } from "./figures";
import type { Lines } from "./history";
import { show } from "./units";

const height = 150;
/** leastSpan is the time in seconds that a plot shows at least. */
const leastSpan = 60;

/** Plot draws lines, with a table of their newest values, or of those at the pointer. */
export function Plot({ plot, lines }: { plot: Plotted; lines: Lines }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const dark = isDark.value;
  const names = JSON.stringify(lines.names);
  useEffect(() => {
    const element = box.current!;
    chart.current = new uPlot(options(plot, lines.names, element.clientWidth, setAt), data(lines), element);
    const observer = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [names, dark]);
  useEffect(() => { chart.current?.setData(data(lines)); }, [lines]);
  const index = at ?? lines.times.length - 1;
  const moment = at === null ? "Now" : new Date((lines.times[at] ?? 0) * 1000).toLocaleTimeString();
  return (
    <section class="plot" aria-label={plot.title}>
      <h3>{plot.title}</h3>
      {plot.help && <p class="soft">{plot.help}</p>}
      <div ref={box} aria-hidden="true" />
      <table class="plain">
        <thead><tr><th scope="col">Line</th><th scope="col" class="number">{moment}</th></tr></thead>
        <tbody>
          {lines.names.map((name, i) => (
            <tr key={name}>
              <th scope="row"><span class={`line-key line-${i % 8}`} aria-hidden="true" />{name || "(none)"}</th>
              <td class="number">{show(lines.values[i]![index], plot.unit)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function data({ times, values }: Lines): uPlot.AlignedData {
  return [times, ...values] as uPlot.AlignedData;
}

/** options are those of a plot in the colours of the page; every second line is dashed, so that colours are not all that tells them apart. */
function options(plot: Plotted, names: string[], width: number, setAt: (at: number | null) => void): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `${0.7 * parseFloat(style.fontSize)}px ${style.fontFamily}`;
  const axis = { stroke: colour("--soft"), font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  return {
    width, height,
    padding: [8, 28, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "server" } },
    scales: { x: { range: (_, first, last) => [Math.min(first, last - leastSpan), last] }, y: { range: (_, least, largest) => [Math.min(0, least ?? 0), (largest ?? 0) > 0 ? largest * 1.1 : 1] } },
    axes: [
      { ...axis, space: 80, size: 24, values: (_, splits) => splits.map((t) => new Date(t * 1000).toLocaleTimeString()) },
      { ...axis, size: 64, values: (_, splits) => splits.map((v) => (plot.unit === "count" && !Number.isInteger(v) ? "" : show(v, plot.unit))) },
    ],
    series: [{}, ...names.map((label, i) => ({
      label, stroke: colour(`--owner-${i % 8}`), width: 2, dash: i % 2 ? [6, 3] : undefined, points: { show: false }, spanGaps: false,
    }))],
    hooks: { setCursor: [(u: uPlot) => setAt(u.cursor.idx ?? null)] },
  };
}
