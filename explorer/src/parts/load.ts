import { useEffect, useState } from "preact/hooks";
import { aborted } from "../api/client";

export interface Loaded<T> {
  value?: T;
  error?: unknown;
  again: () => void;
}

/** useLoad loads a value when one of its inputs changes. The load before it is ended. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: unknown[]): Loaded<T> {
  const [state, set] = useState<{ value?: T; error?: unknown }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    const end = new AbortController();
    load(end.signal).then(
      (value) => { if (!end.signal.aborted) set({ value }); },
      (error: unknown) => { if (!end.signal.aborted && !aborted(error)) set({ error }); },
    );
    return () => end.abort();
  }, [...inputs, round]);
  return { ...state, again: () => setRound((r) => r + 1) };
}

/** useBusy runs one action at a time: while it runs, further ones are ignored. */
export function useBusy(): [boolean, (action: () => Promise<void>) => void, unknown, (error: unknown) => void] {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = (action: () => Promise<void>) => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    action().catch((e: unknown) => { if (!aborted(e)) setError(e); }).finally(() => setBusy(false));
  };
  return [busy, run, error, setError];
}
