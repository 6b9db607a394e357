import { Plain } from "../parts/plain";
import type { Sample } from "./metrics";

/** purposes say what the certificates are for, by the label of their metric. */
const purposes: Record<string, string> = {
  "serving": "what clients see when they connect",
  "serving-names": "what clients see that ask for certain names (--tls-sni-cert-key)",
  "own-authority": "the server’s own authority, which signs its certificates",
  "administrator": "in the administrator’s kubeconfig",
  "clients": "authorities of client certificates",
  "proxies": "authorities of proxies that log users in",
  "extension-servers": "by which extension servers know this server",
  "nodes": "by which agents of nodes know this server",
  "node-authorities": "authorities of agents of nodes",
};

const day = 86_400_000;

/** Certificates lists when the certificates of the server end, the first that ends first. */
export function Certificates({ now }: { now: Sample }) {
  const all = now.of("capstan_certificate_expiration_timestamp_seconds")
    .map(({ labels, value }) => ({ name: labels.certificate ?? "", end: value * 1000, days: Math.floor((value * 1000 - now.at) / day) }))
    .sort((a, b) => a.end - b.end);
  return (
    <section aria-labelledby="certificates" class="stack">
      <h2 id="certificates">Certificates</h2>
      {!all.length && <p class="soft">This server does not say when its certificates end.</p>}
      {all.length > 0 && (
        <Plain label="Certificates" heads={["Certificate", "Ends", "Days left", "What it is for"]}>
          {all.map((c) => (
            <tr key={c.name}>
              <td>{c.name}</td>
              <td>{new Date(c.end).toLocaleString()}</td>
              <td class={c.days < 7 ? "number bad-text" : c.days < 30 ? "number warn-text" : "number"}>{c.days < 0 ? "has ended" : c.days}</td>
              <td>{purposes[c.name]}</td>
            </tr>
          ))}
        </Plain>
      )}
    </section>
  );
}
