import type { ComponentChildren } from "preact";

/** Plain is a table of few rows. On narrow screens it scrolls sideways, also by the keyboard; or, stacked, its cells stand one below the other. */
export function Plain({ label, heads, stacked, children }: { label: string; heads: string[]; stacked?: boolean; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table class={stacked ? "plain stacked" : "plain"}>
        <thead><tr>{heads.map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
