import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { loginNeeded } from "../api/client";
import { logIn, logInByLink, logOut, readConfig, session } from "../api/session";
import { Dialog } from "../parts/dialog";
import { useBusy, useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { replace } from "../route";
import { fromIssuer, toIssuer } from "./oidc";

/** The token of a one-time link. It leaves the address bar and the history at once. */
const link = signal(takeLink());

window.addEventListener("hashchange", () => { link.value = takeLink() ?? link.value; });

function takeLink(): string | undefined {
  const token = /^#link=(.+)$/.exec(location.hash)?.[1];
  if (token) replace(location.pathname);
  return token;
}

/** arrive logs in by what the address brings: a link, or the answer of an issuer. */
async function arrive(): Promise<void> {
  const linkToken = link.value;
  link.value = undefined;
  if (linkToken) return logInByLink(linkToken);
  const token = await fromIssuer();
  if (token) await logIn(token, "oidc");
}

/** LoginPage is the page for users who have not logged in. */
export function LoginPage() {
  const [arriving, setArriving] = useState(true);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    arrive().catch(setError).finally(() => setArriving(false));
  }, []);
  useEffect(() => {
    if (!link.value) return;
    setError(undefined);
    arrive().catch(setError);
  }, [link.value]);
  return (
    <main class="login">
      <h1>Capstan explorer</h1>
      <p class="soft">Objects of this server: what is there, who owns it, how it came to be.</p>
      <Failure error={error} />
      {arriving ? <p role="status">Logging in…</p> : <LoginForm />}
    </main>
  );
}

/** LoginForm has the ways to log in. The token goes from the field to the server, and is kept in memory only. */
function LoginForm() {
  const config = useLoad(readConfig, []);
  const [busy, run, error] = useBusy();
  const oidc = config.value?.oidc;
  return (
    <>
      <form class="stack" onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("token") as HTMLInputElement;
        const token = field.value.trim();
        if (token) run(() => logIn(token, "token"));
      }}>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="off" spellcheck={false} autofocus required />
        <button type="submit" class="primary" disabled={busy}>{busy ? "Logging in…" : "Log in"}</button>
      </form>
      <Failure error={error} />
      <div class="ways">
        {oidc && <button type="button" disabled={busy} onClick={() => run(() => toIssuer(oidc))}>Log in with {new URL(oidc.issuer).host}</button>}
        <button type="button" disabled={busy} onClick={() => run(() => logIn(undefined, "certificate"))}>Use my certificate</button>
      </div>
      <details>
        <summary>Where do I get a token?</summary>
        <p>On the server’s machine, <code>capstan explorer</code> prints a link that logs you in once.</p>
        <p>With kubectl: <code>kubectl create token NAME</code> makes one for a service account.</p>
      </details>
    </>
  );
}

/** LoginAgain asks for a login while the page waits, with all that was typed in it. */
export function LoginAgain() {
  if (!loginNeeded.value || !session.value) return null;
  return (
    <Dialog title="Your login has ended">
      <Notice>The page waits, and nothing that you have typed is lost. Log in again to go on as {session.value.user}, or as somebody else.</Notice>
      <LoginForm />
      <p><button type="button" class="quiet" onClick={() => { loginNeeded.value = false; void logOut(); }}>Log out and give up</button></p>
    </Dialog>
  );
}

/** OtherLink asks whether a link that was opened in a page with a login counts. */
export function OtherLink() {
  if (!link.value || !session.value) return null;
  const stay = () => { link.value = undefined; };
  return (
    <Dialog title="Log in by the link?" close={stay}>
      <p>You are logged in as {session.value.user}. The link that was opened is another login. It ends this one, and changes that are not saved are lost.</p>
      <div class="row">
        <button type="button" class="primary" onClick={() => void logOut()}>Use the link</button>
        <button type="button" onClick={stay}>Stay logged in</button>
      </div>
    </Dialog>
  );
}
