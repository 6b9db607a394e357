import { Lazy } from "../parts/lazy";
import type { Module, Route } from "../route";

const view = () => import("./documents").then((m) => m.Documents);

export const documents: Module = { title: "Documents", key: "2", path: "documents", View: ({ route }: { route: Route }) => <Lazy load={view} props={{ route }} /> };
