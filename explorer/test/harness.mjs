// A server with its own data, a browser, and what the tests share. CAPSTAN is the program, by default
// ../bin/capstan; CHROMIUM the browser; SCREENSHOTS a folder for pictures.
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import https from "node:https";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const program = process.env.CAPSTAN ?? path.resolve(import.meta.dirname, "../../bin/capstan");
const pictures = process.env.SCREENSHOTS;
export const adminToken = "token-of-admin";
export const annaToken = "token-of-anna";

export class Server {
  // start starts a server of another program, if it is named.
  static async start(flags = [], other = program) {
    const s = new Server();
    s.program = other;
    s.dir = fs.mkdtempSync(path.join(os.tmpdir(), "explorer-"));
    fs.writeFileSync(path.join(s.dir, "tokens.csv"), `${adminToken},admin,1,"system:masters"\n${annaToken},anna,2,"dev"\n`);
    s.flags = flags;
    await s.run(0);
    return s;
  }

  // run starts the program; again on the same port after a stop.
  async run(port) {
    this.process = spawn(this.program, ["serve", "--data-dir", path.join(this.dir, "data"), "--token-auth-file", path.join(this.dir, "tokens.csv"),
      "--secure-port", String(port), ...this.flags], { stdio: ["ignore", "pipe", "pipe"] });
    this.process.stderr.resume();
    const { process: child } = this;
    process.once("exit", () => child.kill());
    const lines = createInterface({ input: this.process.stdout });
    for await (const line of lines) {
      const address = /listens on (https:\S+)/.exec(line)?.[1];
      if (address) {
        this.address = address;
        break;
      }
    }
    this.process.stdout.resume();
    if (!this.address) throw new Error(`${this.program} did not start`);
  }

  async stop() {
    if (this.process.exitCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGTERM");
    await ended;
  }

  async restart() {
    const { port } = new URL(this.address);
    await this.stop();
    await this.run(port);
  }

  async remove() {
    await this.stop();
    fs.rmSync(this.dir, { recursive: true });
  }

  call(method, url, body, { token = adminToken, type = "application/json" } = {}) {
    return new Promise((resolve, reject) => {
      const request = https.request(this.address + url, { method, rejectUnauthorized: false, agent, headers: { Authorization: `Bearer ${token}`, ...(body ? { "Content-Type": type } : {}) } }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (d) => { text += d; }).on("end", () => {
          const value = /^[[{]/.test(text) ? JSON.parse(text) : undefined; // some refusals are no objects
          if (answer.statusCode < 300) resolve(value);
          else reject(Object.assign(new Error(`${method} ${url}: ${value?.message ?? answer.statusCode}`), { code: answer.statusCode }));
        });
      }).on("error", reject);
      request.end(body && (typeof body === "string" ? body : JSON.stringify(body)));
    });
  }

  create(url, object) {
    return this.call("POST", url, object);
  }

  patch(url, change, manager = "tester") {
    return this.call("PATCH", `${url}?fieldManager=${manager}`, change, { type: "application/merge-patch+json" });
  }

  // link is a one-time login link, as a person gets it.
  async link() {
    const child = spawn(this.program, ["explorer", "--kubeconfig", path.join(this.dir, "data", "admin.kubeconfig")], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const part of child.stdout) text += part;
    const found = /https:\S+#link=\S+/.exec(text);
    if (!found) throw new Error(`capstan explorer printed no link: ${text}`);
    return found[0];
  }
}

const agent = new https.Agent({ keepAlive: true, maxSockets: 8 });

export class Browser {
  static async start() {
    const b = new Browser();
    b.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    return b;
  }

  // page opens a page that records what must never happen: violations of the policy, dialogs, errors.
  async page(options = {}) {
    const context = await this.browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.wrong = [];
    page.on("pageerror", (e) => page.wrong.push(`error: ${e.message}`));
    page.on("dialog", (d) => { if (d.type() !== "beforeunload") page.wrong.push(`dialog: ${d.message()}`); d.accept(); });
    page.on("console", (m) => { if (/Content Security Policy|violates/.test(m.text())) page.wrong.push(m.text()); });
    return page;
  }

  stop() {
    return this.browser.close();
  }
}

// logIn opens a place of the page as a user.
export async function logIn(page, server, place = "#/objects/core/v1/namespaces", token = adminToken) {
  await page.goto(`${server.address}/explorer/${place}`);
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
}

export async function picture(page, name) {
  if (!pictures) return;
  fs.mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

// editorText is what an editor shows; Playwright looks into shadow trees.
export async function editorText(page, label) {
  return (await page.getByLabel(label, { exact: true }).locator(".cm-line").allInnerTexts()).join("\n");
}

// retype replaces a line of an editor, as a person does; the indentation stays.
export async function retype(page, label, before, after) {
  const line = page.getByLabel(label, { exact: true }).locator(".cm-line", { hasText: before }).first();
  await line.click();
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Home"); // up to the indentation
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(after);
}

// mainThread is how many milliseconds of its processor each task of pages took while act ran, the longest first. A task is
// what the page does without a pause; time in which other programs had the processor is not part of it.
export async function mainThread(browser, page, act) {
  await browser.browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline", "__metadata"] });
  try {
    await act();
  } catch (error) {
    await browser.browser.stopTracing();
    throw error;
  }
  const { traceEvents: events } = JSON.parse(await browser.browser.stopTracing());
  const main = new Set(events.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => e.tid));
  return events.filter((e) => e.name === "RunTask" && main.has(e.tid)).map((e) => (e.tdur ?? 0) / 1000).sort((a, b) => b - a);
}
