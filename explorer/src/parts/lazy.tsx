import type { ComponentType } from "preact";
import { useLoad } from "./load";
import { Failure } from "./notice";

/** Lazy shows a view whose code is loaded when it is needed first. */
export function Lazy<P extends object>({ load, props }: { load: () => Promise<ComponentType<P>>; props: P }) {
  const { value, error, again } = useLoad(async () => ({ View: await load() }), [load]);
  if (error) return <main class="page"><Failure error={error} retry={again} /></main>;
  if (!value) return <main class="page"><p class="soft" role="status">Loading…</p></main>;
  return <value.View {...props} />;
}
