import { useSignal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { discover, keepDiscovering } from "../api/discovery";
import { logOut, session } from "../api/session";
import { useKeys } from "../keys";
import { LoginAgain, OtherLink } from "../login/login";
import { Failure, Toasts } from "../parts/notice";
import { href, type Module, type Route, route } from "../route";
import { readNamespaces } from "../state";
import { theme, type Theme } from "../theme";
import { CommandLine } from "./command";
import { Help } from "./help";

/** Shell is the frame of all views: navigation, command line, help. */
export function Shell({ modules }: { modules: Module[] }) {
  const command = useSignal(false);
  const help = useSignal(false);
  useEffect(() => {
    const end = new AbortController();
    void readNamespaces();
    keepDiscovering(end.signal);
    discover().catch(() => undefined); // views say what is wrong
    return () => end.abort();
  }, []);
  useKeys([
    { key: ":", does: "command line: kinds, namespaces, pages", run: () => { command.value = true; } },
    { key: "?", does: "this help", run: () => { help.value = true; } },
    { key: "Escape", does: "back", run: () => history.back() },
  ]);
  const at = modules.find((m) => m.path === route.value.parts[0]) ?? modules[0]!;
  useEffect(() => { document.title = `${at.title} · Capstan explorer`; }, [at]);
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => { e.preventDefault(); document.getElementById("content")?.focus(); }}>To the content</a>
      <header class="top">
        <a class="brand" href={href([modules[0]!.path])}>Capstan</a>
        <nav aria-label="Pages">
          {modules.map((m) => <a key={m.path} href={href([m.path])} aria-current={m === at ? "page" : undefined}>{m.title}</a>)}
        </nav>
        <button type="button" class="command-button" onClick={() => { command.value = true; }}>Go to… <kbd>:</kbd></button>
        <button type="button" class="quiet" aria-label="Keyboard help" title="Keyboard help" onClick={() => { help.value = true; }}>?</button>
        <ThemeChoice />
        <span class="user" title={session.value?.groups.join(", ")}>{session.value?.user}</span>
        <button type="button" class="quiet" onClick={() => void logOut()}>Log out</button>
      </header>
      <div id="content" tabIndex={-1} class="content">
        <Boundary key={at.path} place={route.value}><at.View route={route.value} /></Boundary>
      </div>
      {command.value && <CommandLine modules={modules} close={() => { command.value = false; }} />}
      {help.value && <Help close={() => { help.value = false; }} />}
      <LoginAgain />
      <OtherLink />
      <Toasts />
    </>
  );
}

function ThemeChoice() {
  return (
    <select class="quiet" aria-label="Colours" value={theme.value} onChange={(e) => { theme.value = e.currentTarget.value as Theme; }}>
      <option value="system">System</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}

/** Boundary shows the error of a view that failed, instead of an empty page. */
class Boundary extends Component<{ children: ComponentChildren; place: Route }, { error?: unknown }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate(before: { place: Route }) {
    if (before.place !== this.props.place && this.state.error) this.setState({ error: undefined });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return <main class="page"><Failure error={this.state.error} retry={() => this.setState({ error: undefined })} /></main>;
  }
}
