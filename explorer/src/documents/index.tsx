import type { Module } from "../route";

export const documents: Module = { title: "Documents", key: "d", path: "documents", View: () => null };
