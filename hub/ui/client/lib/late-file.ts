import { useEffect, useReducer, useState } from "react";
import { call } from "./http.ts";
import { info } from "./info.ts";

/** A file of the app that is fetched when it is first wanted. */
export interface LateFile<T> {
  /** What it has; null until it is there. */
  value: T | null;
  /** @throws what the browser says when the file does not come */
  load(): Promise<void>;
}

export function lateFile<T>(fetchFile: () => Promise<T>): LateFile<T> {
  const file: LateFile<T> = {
    value: null,
    load: async () => {
      file.value ??= await fetchFile();
    },
  };
  return file;
}

/** What browsers say of a script that does not come: of one address, so that there is nothing better to tell it by. */
const NO_FILE = /dynamically imported module|module script failed|importing a module/i;
const isMissingFile = (error: unknown): boolean =>
  error instanceof TypeError && NO_FILE.test(error.message);

const AGAIN_MS = 2_000;
/** The server may go away between its answer and the file; one that answers twice has no such file. */
const TRIES = 2;

/** Resolves when the server answers, or when nobody waits for it any more. */
async function serverAnswers(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const path = info.fleet ? "GET /health" : "GET /api/v1/health";
    const answers = await call(path, { signal }).then(
      () => true,
      () => false,
    );
    if (answers) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** False where the file does not come. @throws what is wrong with a file that came */
const comes = (file: LateFile<unknown>): Promise<boolean> =>
  file.load().then(
    () => true,
    (error) => {
      if (isMissingFile(error)) return false;
      throw error;
    },
  );

/** `away`: it comes once the server answers; `missing`: the server answers and has no such file. */
type Waiting = "coming" | "away" | "missing";

async function fetchLate(
  file: LateFile<unknown>,
  signal: AbortSignal,
  tell: (state: Waiting) => void,
): Promise<void> {
  tell("coming");
  if (await comes(file)) return;
  if (!signal.aborted) tell("away");
  for (let tries = 0; tries < TRIES; tries += 1) {
    await serverAnswers(signal);
    if (signal.aborted || (await comes(file))) return;
  }
  if (!signal.aborted) tell("missing");
}

export type Late<T> = { state: "there"; value: T } | { state: Waiting };

/**
 * What a file has, as soon as it is there. Where the server is away it is asked for again by itself; a server that has been
 * updated has files of other names. @throws what is wrong with a file that came
 */
export function useLateFile<T>(file: LateFile<T>): Late<T> {
  const [, drawAgain] = useReducer((n: number) => n + 1, 0);
  const [state, setState] = useState<Waiting>("coming");
  const [failure, setFailure] = useState<{ error: unknown } | null>(null);
  useEffect(() => {
    if (file.value !== null) return;
    const left = new AbortController();
    fetchLate(file, left.signal, setState).then(drawAgain, (error) => setFailure({ error }));
    return () => left.abort();
  }, [file]);
  if (failure) throw failure.error;
  return file.value === null ? { state } : { state: "there", value: file.value };
}
