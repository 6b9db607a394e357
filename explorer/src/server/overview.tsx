import { useEffect, useMemo } from "preact/hooks";
import { useKeys } from "../keys";
import { Failure, Notice } from "../parts/notice";
import { Certificates } from "./certificates";
import { plots } from "./figures";
import { Glance } from "./glance";
import { Monitor } from "./monitor";
import { Plot } from "./plot";
import { Fairness } from "./fairness";
import { Slow } from "./slow";
import { Webhooks } from "./webhooks";

/** Overview shows how the server does: plots of the last minutes, queues, slow requests, webhooks and certificates. */
export function Overview() {
  const monitor = useMemo(() => new Monitor(), []);
  useEffect(() => () => monitor.stop(), [monitor]);
  const toggle = () => { monitor.paused.value = !monitor.paused.value; };
  useKeys([{ key: "p", does: "pause the plots, or let them go on", run: toggle }]);
  const { value: now, error } = monitor.now.value;
  const before = monitor.before.value;
  return (
    <main class="page server">
      <div class="row">
        <h1 class="grow">Server</h1>
        {!!error && !!now && <span class="state broken">not up to date</span>}
        <button type="button" aria-pressed={monitor.paused.value} onClick={toggle}>{monitor.paused.value ? "Paused" : "Pause"} <kbd>p</kbd></button>
      </div>
      <Failure error={error} />
      {!now && !error && <p class="soft" role="status">Reading the metrics…</p>}
      {now?.cut && <Notice kind="warn">The metrics of this server are too long to be read as a whole: the figures are of a part.</Notice>}
      {now && <Glance now={now} before={before} />}
      {now && <Plots monitor={monitor} waiting={!before} />}
      <Slow part={monitor.slow.value} />
      <Fairness levels={monitor.levels.value} queued={monitor.queued.value} now={now} />
      {now && <Webhooks now={now} before={before} />}
      {now && <Certificates now={now} />}
    </main>
  );
}

/** Plots are those that have lines; the others are named. */
function Plots({ monitor, waiting }: { monitor: Monitor; waiting: boolean }) {
  const all = plots.map((plot) => ({ plot, lines: monitor.histories.get(plot.id)!.lines(plot.unit !== "seconds") }));
  const without = all.filter(({ lines }) => !lines.names.length).map(({ plot }) => plot.title.toLowerCase());
  return (
    <section aria-labelledby="plots" class="stack">
      <h2 id="plots">The last minutes</h2>
      <p class="soft">Every five seconds while this page is in view. The tables have the newest values, or those at the pointer.</p>
      <div class="plots">{all.filter(({ lines }) => lines.names.length).map(({ plot, lines }) => <Plot key={plot.id} plot={plot} lines={lines} />)}</div>
      {waiting ? <p class="soft">Rates need two samples: some seconds more…</p> : without.length > 0 && <p class="soft">Nothing so far of: {without.join(", ")}.</p>}
    </section>
  );
}
