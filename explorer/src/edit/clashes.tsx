import { useState } from "preact/hooks";
import type { Value } from "../api/types";
import { Dialog } from "../parts/dialog";
import { showPath } from "../parts/source";
import type { Clash } from "./merge";
import { Plain } from "../parts/plain";

interface Props {
  title: string;
  intro: string;
  clashes: Clash[];
  yes: string; // "Take over"
  no: string; // "Give up"
  done: (yours: boolean[]) => void;
  close: () => void;
}

/** Clashes asks for each field whose value counts. */
export function Clashes({ title, intro, clashes, yes, no, done, close }: Props) {
  const [choices, set] = useState<(boolean | undefined)[]>(clashes.map(() => undefined));
  const choose = (i: number, yours: boolean) => set(choices.map((c, j) => (i === j ? yours : c)));
  return (
    <Dialog title={title} close={close} wide>
      <p>{intro}</p>
      <Plain label="Fields" heads={["Field", "Yours", "Theirs", "Choice"]} stacked>
        {clashes.map((c, i) => (
          <tr key={i}>
            <td class="mono wrap">{showPath(c.path)}{c.owner && <><br /><span class="soft">owned by {c.owner}</span></>}</td>
            <td class="mono wrap" data-head="Yours">{brief(c.yours)}</td>
            <td class="mono wrap" data-head="Theirs">{brief(c.theirs)}</td>
            <td>
              <label class="choice"><input type="radio" name={`clash-${i}`} checked={choices[i] === true} onChange={() => choose(i, true)} /> {yes}</label>
              <label class="choice"><input type="radio" name={`clash-${i}`} checked={choices[i] === false} onChange={() => choose(i, false)} /> {no}</label>
            </td>
          </tr>
        ))}
      </Plain>
      <div class="row">
        <button type="button" class="primary" disabled={choices.includes(undefined)} onClick={() => done(choices.map((c) => c === true))}>Go on</button>
        <button type="button" onClick={close}>Back to the text</button>
      </div>
    </Dialog>
  );
}

function brief(value: Value | undefined): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
