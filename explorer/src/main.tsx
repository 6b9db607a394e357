import { render } from "preact";
import "./style.css";
import { session } from "./api/session";
import { documents } from "./documents";
import { useKeys } from "./keys";
import { LoginPage } from "./login/login";
import { objects } from "./objects";
import { go, href } from "./route";
import { server } from "./server";
import { Shell } from "./shell/shell";
import "./theme";

const modules = [objects, documents, server];

function Page() {
  useKeys(modules.map((m) => ({ key: m.key, does: `page ${m.title}`, run: () => go(href([m.path])) })));
  return session.value ? <Shell modules={modules} /> : <LoginPage />;
}

render(<Page />, document.getElementById("page")!);
