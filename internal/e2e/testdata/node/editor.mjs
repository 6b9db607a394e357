// Drives yaml-language-server, the server of VS Code's YAML extension, as an editor in the module of an API does: with
// its .vscode/settings.json, or without any settings. Arguments: the folder of the module, and "settings" or "none".
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [root, use] = process.argv.slice(2);
const schemas = use === 'settings' ? JSON.parse(readFileSync(join(root, '.vscode/settings.json')))['yaml.schemas'] : {};
const server = spawn(process.execPath, [join(import.meta.dirname, 'node_modules/yaml-language-server/bin/yaml-language-server'), '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
const answers = new Map(), diagnostics = new Map();
let received = Buffer.alloc(0), last = 0, changed = () => {};

function send(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function request(method, params) {
  send({ id: ++last, method, params });
  return new Promise((resolve) => answers.set(last, resolve));
}

function handle(message) {
  if (message.method === 'workspace/configuration') {
    send({ id: message.id, result: message.params.items.map(({ section }) => (section === 'yaml' ? { schemas, validate: true, completion: true, hover: true, schemaStore: { enable: false } } : null)) });
  } else if (message.method && message.id !== undefined) {
    send({ id: message.id, result: null });
  } else if (message.method === 'textDocument/publishDiagnostics') {
    diagnostics.set(message.params.uri, message.params.diagnostics.map(({ range, message: text }) => `${range.start.line + 1}: ${text}`));
    changed();
  } else if (message.id !== undefined) {
    answers.get(message.id)(message.result);
  }
}

server.stdout.on('data', (data) => {
  received = Buffer.concat([received, data]);
  for (;;) {
    const head = received.indexOf('\r\n\r\n');
    const length = head < 0 ? Infinity : Number(/Content-Length: (\d+)/i.exec(received.subarray(0, head))[1]);
    if (received.length < head + 4 + length) return;
    handle(JSON.parse(received.subarray(head + 4, head + 4 + length)));
    received = received.subarray(head + 4 + length);
  }
});

// reported waits until the diagnostics of a document are as wanted.
async function reported(uri, wanted) {
  while (!diagnostics.has(uri) || !wanted(diagnostics.get(uri))) {
    await new Promise((resolve) => { changed = resolve; });
  }
}

// edit opens a document as it is, which has to be right, changes a text, and waits for a mistake in it.
async function edit(name, from, to, mistake) {
  const uri = pathToFileURL(join(root, name)).href, text = readFileSync(join(root, name), 'utf8');
  send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version: 1, text } } });
  await reported(uri, () => true);
  if (diagnostics.get(uri).length > 0) throw new Error(`${name}: ${diagnostics.get(uri)}`);
  const now = text.replace(from, to);
  if (now === text) throw new Error(`${name} lacks ${from}`);
  send({ method: 'textDocument/didChange', params: { textDocument: { uri, version: 2 }, contentChanges: [{ text: now }] } });
  await reported(uri, (all) => all.some((d) => mistake.test(d)));
  return { uri, text };
}

// completes types a text in place of another one, and checks that completion behind it offers a word.
async function completes({ uri, text }, from, typed, word) {
  const before = text.slice(0, text.indexOf(from)) + typed, lines = before.split('\n');
  send({ method: 'textDocument/didChange', params: { textDocument: { uri, version: 3 }, contentChanges: [{ text: text.replace(from, typed) }] } });
  const { items } = await request('textDocument/completion', { textDocument: { uri }, position: { line: lines.length - 1, character: lines.at(-1).length } });
  if (!items.some(({ label }) => label === word)) throw new Error(`${typed}: ${items.map(({ label }) => label)} lacks ${word}`);
}

const uri = pathToFileURL(root).href;
await request('initialize', { processId: process.pid, rootUri: uri, workspaceFolders: [{ uri, name: 'module' }],
  capabilities: { workspace: { configuration: true, workspaceFolders: true }, textDocument: { publishDiagnostics: {} } } });
send({ method: 'initialized', params: {} });

const schema = await edit('schemas/fleet/v1beta1/Truck.yaml', 'maximum: 100', 'x-cluster-binery: 1', /x-cluster-binery is not allowed/);
await completes(schema, 'maximum: 100', 'x-cluster-', 'x-cluster-immutable');
const version = await edit('openapi/fleet/v1beta1.yaml', 'scope: Namespaced', 'scope: Namespace', /Valid values: "Namespaced", "Cluster"/);
await completes(version, 'scope: Namespaced', 'scope: ', 'Cluster');
await edit('schemas/fleet/v1beta1/TruckRestart.yaml', 'maxLength: 100', 'maxLenght: 100', /maxLenght is not allowed/);
if (use === 'settings') await edit('examples/truck.yaml', 'size: 3', 'size: 300', /above the maximum of 100/);
server.kill();
console.log('all well');
