import fs from "node:fs";
import { defineConfig, type Plugin } from "vite";

// Licences writes the licences of the packages that are in the bundle.
function licences(): Plugin {
  return {
    name: "licences",
    generateBundle(_, bundle) {
      const packages = new Set<string>();
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        for (const id of Object.keys(file.modules)) {
          const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll("\\", "/"))?.[1];
          if (name) packages.add(name);
        }
      }
      const texts = [...packages].sort().map((name) => {
        const folder = `node_modules/${name}`;
        const { version, license } = JSON.parse(fs.readFileSync(`${folder}/package.json`, "utf8")) as { version: string; license: string };
        const file = fs.readdirSync(folder).find((f) => /^licen[cs]e(\.(md|txt))?$/i.test(f));
        const text = file ? fs.readFileSync(`${folder}/${file}`, "utf8").trim() : "";
        return `${name} ${version} (${license})\n\n${text}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join(`\n${"-".repeat(78)}\n\n`) });
    },
  };
}

// The names of files have no hashes: the server sends an ETag with each.
export default defineConfig({
  base: "./",
  plugins: [licences()],
  server: {
    proxy: Object.fromEntries(["/api", "/apis", "/openapi", "/version", "/metrics", "/debug", "/explorer/config.json"].map((path) =>
      [path, { target: process.env.CAPSTAN ?? "https://127.0.0.1:6443", secure: false, ws: true }])),
  },
  build: {
    target: "es2022",
    assetsDir: "",
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1000,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { entryFileNames: "explorer.js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});
