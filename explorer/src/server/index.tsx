import { Lazy } from "../parts/lazy";
import type { Module } from "../route";

const overview = () => import("./overview").then((m) => m.Overview);

export const server: Module = { title: "Server", key: "3", path: "server", View: () => <Lazy load={overview} props={{}} /> };
