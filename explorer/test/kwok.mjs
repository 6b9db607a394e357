// KWOK, which is the agent of nodes that do not exist: it reports their pods as running, and serves logs from files and
// commands by processes of this machine, by the protocols of a kubelet. KWOK is the program, by default one that is built
// into ../.tmp/bin once.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";

const version = "v0.6.1";
const folder = path.resolve(import.meta.dirname, "../../.tmp/bin");
const program = process.env.KWOK ?? path.join(folder, "kwok");

function build() {
  if (fs.existsSync(program)) return;
  const made = spawnSync("go", ["install", `sigs.k8s.io/kwok/cmd/kwok@${version}`], { env: { ...process.env, GOBIN: folder, CGO_ENABLED: "0" }, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`KWOK cannot be built: ${made.error ?? made.stderr}`);
}

async function freePort() {
  const socket = net.createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  socket.close();
  await once(socket, "close");
  return port;
}

export class Kwok {
  // start runs KWOK for all nodes of a server. The log of each container of a name is a file.
  static async start(server, containers) {
    build();
    const k = new Kwok();
    k.logs = Object.fromEntries(containers.map((c) => [c, path.join(server.dir, `${c}.log`)]));
    for (const file of Object.values(k.logs)) fs.writeFileSync(file, "");
    const config = path.join(server.dir, "kwok.json");
    const rule = (kind, spec) => JSON.stringify({ apiVersion: "kwok.x-k8s.io/v1alpha1", kind, metadata: { name: "all" }, spec });
    fs.writeFileSync(config, [
      rule("ClusterLogs", { logs: containers.map((c) => ({ containers: [c], logsFile: k.logs[c], follow: true })) }),
      rule("ClusterExec", { execs: [{ local: { workDir: server.dir, envs: [{ name: "GREETING", value: "grüße" }] } }] }),
    ].join("\n---\n"));
    const port = await freePort();
    const pki = path.join(server.dir, "data", "pki");
    k.process = spawn(program, ["--kubeconfig", path.join(server.dir, "data", "admin.kubeconfig"), "--config", config, "--manage-all-nodes=true", "--node-ip=127.0.0.1",
      `--node-port=${port}`, `--server-address=127.0.0.1:${port}`, `--tls-cert-file=${path.join(pki, "server.crt")}`, `--tls-private-key-file=${path.join(pki, "server.key")}`], { stdio: ["ignore", "ignore", "pipe"] });
    k.said = "";
    k.process.stderr.setEncoding("utf8").on("data", (text) => { k.said = (k.said + text).slice(-4000); });
    const { process: child } = k;
    process.once("exit", () => child.kill());
    return k;
  }

  // write appends a line to the log of a container, as a runtime does.
  write(container, text) {
    fs.appendFileSync(this.logs[container], `${new Date().toISOString().replace("Z", "000000Z")} stdout F ${text}\n`);
  }

  async stop() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
  }
}
