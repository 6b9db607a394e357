import type { Module } from "../route";

export const objects: Module = { title: "Objects", key: "o", path: "objects", View: () => null };
