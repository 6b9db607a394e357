import type { ComponentChildren } from "preact";

/** Plain is a table of few rows. On narrow screens it scrolls sideways, also by the keyboard. */
export function Plain({ label, heads, children }: { label: string; heads: string[]; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table class="plain">
        <thead><tr>{heads.map((h) => <th key={h} scope="col">{h}</th>)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
