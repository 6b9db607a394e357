import { bindings } from "../keys";
import { Dialog } from "../parts/dialog";

/** Help lists the keys that count at this place. */
export function Help({ close }: { close: () => void }) {
  const list = [...new Map(bindings().map((b) => [b.key, b])).values()];
  return (
    <Dialog title="Keyboard" close={close}>
      <dl class="keys">
        {list.map((b) => <div key={b.key}><dt><kbd>{b.key === " " ? "Space" : b.key.replace("ctrl+", "Ctrl ")}</kbd></dt><dd>{b.does}</dd></div>)}
      </dl>
    </Dialog>
  );
}
