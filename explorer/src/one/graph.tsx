import type { Kind } from "../api/discovery";
import type { KubeObject } from "../api/types";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { address } from "../objects/view";
import { type Relations, relationsOf, type Relative } from "./relations";

const box = { width: 200, height: 44, gapX: 20, gapY: 44 };

interface Place {
  node: Relative;
  x: number;
  y: number;
}

/** GraphTab is the picture of the object's owners, of what it owns, and of what it uses. */
export function GraphTab({ object, kind }: { object: KubeObject; kind: Kind }) {
  const { value, error, again } = useLoad((signal) => relationsOf(object, kind, signal), [object.metadata.uid, object.metadata.resourceVersion]);
  if (error) return <Failure error={error} retry={again} />;
  if (!value) return <p class="soft" role="status">Looking at the objects of the namespace…</p>;
  const places = layout(value);
  const at = new Map(places.map((p) => [p.node.id, p]));
  const width = Math.max(...places.map((p) => p.x)) + box.width + 4;
  const height = Math.max(...places.map((p) => p.y)) + box.height + 4;
  return (
    <div class="stack fill scroll" role="region" aria-label="Relations" tabIndex={0}>
      {value.partial && <Notice>There are too many objects to look at all of them: the picture has a part.</Notice>}
      {value.nodes.length === 1 && <p class="soft">The object has no owners, owns nothing that you may list, and refers to nothing.</p>}
      <p class="soft">Lines: <span class="line-sample" aria-hidden="true" /> owns, <span class="line-sample dashed" aria-hidden="true" /> uses</p>
      <svg class="graph" width={width} height={height} viewBox={`-2 -2 ${width} ${height}`} role="group" aria-label={`Relations of ${kind.kind} ${object.metadata.name}`}>
        {value.edges.map((e, i) => <Line key={i} from={at.get(e.from)} to={at.get(e.to)} why={e.why} />)}
        {places.map((p) => <Box key={p.node.id} place={p} self={p.node.id === object.metadata.uid} />)}
      </svg>
    </div>
  );
}

/** layout puts each rank into rows of at most five; used objects stand at the right of the object. */
function layout({ nodes }: Relations): Place[] {
  const ranks = [...new Set(nodes.map((n) => n.rank))].sort((a, b) => a - b);
  const places: Place[] = [];
  let y = 0;
  for (const rank of ranks) {
    const row = nodes.filter((n) => n.rank === rank);
    const perRow = rank === 0 ? 4 : 5;
    row.forEach((node, i) => {
      const column = rank === 0 && i > 0 ? 1 + ((i - 1) % (perRow - 1)) : i % perRow;
      const line = rank === 0 && i > 0 ? Math.floor((i - 1) / (perRow - 1)) : Math.floor(i / perRow);
      places.push({ node, x: column * (box.width + box.gapX), y: y + line * (box.height + 12) });
    });
    y = Math.max(...places.map((p) => p.y)) + box.height + box.gapY;
  }
  return places;
}

function Line({ from, to, why }: { from?: Place; to?: Place; why: string }) {
  if (!from || !to) return null;
  const side = from.y === to.y;
  const [x1, y1] = side ? [from.x + box.width, from.y + box.height / 2] : [from.x + box.width / 2, from.y + box.height];
  const [x2, y2] = side ? [to.x, to.y + box.height / 2] : [to.x + box.width / 2, to.y];
  const middle = side ? `C ${(x1 + x2) / 2} ${y1}, ${(x1 + x2) / 2} ${y2}` : `C ${x1} ${(y1 + y2) / 2}, ${x2} ${(y1 + y2) / 2}`;
  return <path class={`edge ${why}`} d={`M ${x1} ${y1} ${middle}, ${x2} ${y2}`} />;
}

function Box({ place: { node, x, y }, self }: { place: Place; self: boolean }) {
  const content = (
    <>
      <rect x={x} y={y} width={box.width} height={box.height} rx={6} />
      <text x={x + 10} y={y + 17} class="soft">{node.kind}</text>
      <text x={x + 10} y={y + 35}>{short(node.name)}</text>
      <title>{`${node.kind} ${node.name}`}</title>
    </>
  );
  if (!node.resource || self) return <g class={self ? "node self" : "node"}>{content}</g>;
  return <a class="node" href={address(node.resource, node)} aria-label={`${node.kind} ${node.name}`}>{content}</a>;
}

function short(name: string): string {
  return name.length > 25 ? `${name.slice(0, 12)}…${name.slice(-12)}` : name;
}
