import { createHash } from "node:crypto";
import { generalised } from "./generalised-words.ts";
import { isFrame, ownFrames, tracebackIn } from "./traceback.ts";

/** What is read of an error and of what was printed: whoever fails decides how long they are. */
const MAX_ERROR = 16_384;
const MAX_PRINTED = 16_384;
const MAX_LINE = 1_000;
const MAX_MESSAGE = 300;
const MAX_KIND = 120;

/** What failures are grouped by (rules/failures#fingerprints). */
export interface Failure {
  /** The error's class, a network error of Chromium, or `Error`. */
  kind: string;
  /** The first line of the message, with placeholders for what differs from case to case. */
  message: string;
  /** 16 hexadecimal digits. */
  fingerprint: string;
  traceback: string | null;
}

/** Where failures are grouped that were recorded before there were fingerprints. */
export const UNKNOWN = "unknown";

/** `ValueError: …`, `app.errors.NotPaid: …`, `requests.exceptions.HTTPError` alone. */
const CLASS =
  /^(?:Uncaught (?:\(in promise\) )?)?((?:[A-Za-z_$][\w$]{0,99}\.){0,8}[A-Z][\w$]{0,99})(?:: ?([\s\S]*))?$/;
const CHROMIUM = /\bnet::(ERR_[A-Z0-9_]+)/;

/** How a program ended, which says nothing of why; its last words do. */
const EXIT = /^(?:exited with code \d{1,3}|killed by SIG[A-Z0-9]{1,12})$/;

const short = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most - 1)}…` : text;

/** The line that names the error: the first that is neither empty nor part of a traceback, of Python the last. */
function headOf(error: string): string {
  const lines = error.split("\n").map((line) => line.slice(0, MAX_LINE).trimEnd());
  const python = lines.findLastIndex((line) => line.startsWith("Traceback (most recent"));
  const from = python < 0 ? 0 : python + 1;
  const named = lines.slice(from).find((line) => /^\S/.test(line) && !isFrame(line));
  return (named ?? lines.find((line) => line.trim() !== "") ?? "").trim();
}

/** Only a traceback that ends in this error: a task may print others that it handled. */
function printedTraceback(printed: string, head: string): string | null {
  const found = tracebackIn(printed.slice(-MAX_PRINTED));
  return found?.includes(head.slice(0, 80)) ? found : null;
}

/** The last line of what a program printed before it ended. */
const lastWords = (printed: string): string | undefined =>
  printed
    .slice(-MAX_PRINTED)
    .split("\n")
    .findLast((line) => line.trim() !== "")
    ?.slice(0, MAX_LINE)
    .trim();

/** Pure, and bounded whatever it is given. `printed`: the task's standard error. */
export function failureOf(error: string, printed = ""): Failure {
  // The beginning names the error, unless it is a traceback, whose end does.
  const text =
    error.length <= MAX_ERROR
      ? error
      : `${error.slice(0, MAX_ERROR / 2)}\n${error.slice(-(MAX_ERROR / 2))}`;
  const end = headOf(text);
  const last_words = EXIT.test(end) ? lastWords(printed) : undefined;
  const head = last_words ?? end;
  const [, name, rest] = CLASS.exec(head) ?? [];
  const chromium = CHROMIUM.exec(head)?.[1];
  const named = name !== undefined && (rest !== undefined || !/\s/.test(head)) ? name : undefined;
  const kind = chromium ?? named?.split(".").at(-1) ?? "Error";
  const message = generalised(named === undefined ? head : (rest ?? ""));
  const traceback = tracebackIn(text) ?? (head === "" ? null : printedTraceback(printed, head));
  const frames = traceback === null ? [] : ownFrames(traceback);
  const exit = last_words === undefined ? [] : [end];
  const parts = [kind.slice(0, MAX_KIND), message, ...exit, ...frames].join("\n");
  return {
    kind: short(kind, MAX_KIND),
    message: short(message, MAX_MESSAGE),
    fingerprint: createHash("sha256").update(parts).digest("hex").slice(0, 16),
    traceback,
  };
}

export const fingerprintOf = (error: string, printed = ""): string =>
  failureOf(error, printed).fingerprint;
