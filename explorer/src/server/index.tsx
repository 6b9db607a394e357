import type { Module } from "../route";

export const server: Module = { title: "Server", key: "s", path: "server", View: () => null };
