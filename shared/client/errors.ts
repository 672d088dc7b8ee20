import { issueText } from "#shared/kit/issue-text.ts";
import type { Operations } from "./operations.gen.ts";

/** A rule that a field of a request breaks (rules/http#errors). */
export interface Issue {
  /** The field, from `body`, `query` or `path` on. */
  loc: (string | number)[];
  msg: string;
}

/**
 * What went wrong with a call. `status` is the hub's, or 0 when no answer came (unreachable, timed out, aborted; see
 * `cause`); `detail` and `body` are those of its error (rules/http#errors), `body` null when there is none.
 */
export class FlotillaError extends Error {
  readonly status: number;
  readonly detail: unknown;
  readonly body: unknown;
  readonly headers: Headers;

  constructor(message: string, from: Partial<Omit<FlotillaError, keyof Error>> & ErrorOptions) {
    super(message, { cause: from.cause });
    this.name = "FlotillaError";
    this.status = from.status ?? 0;
    this.detail = from.detail ?? message;
    this.body = from.body ?? null;
    this.headers = from.headers ?? new Headers();
  }

  /** The rules that the call breaks, one for each field; empty when `detail` is a text. */
  get issues(): readonly Issue[] {
    const { detail } = this;
    return Array.isArray(detail) && detail.every((one) => Array.isArray(one?.loc)) ? detail : [];
  }
}

/** The hub's error if it refused `operation` with `status`; null for every other error. */
export function refusalOf<K extends keyof Operations, S extends keyof Refusals<K> & number>(
  err: unknown,
  _operation: K,
  status: S,
): Refusals<K>[S] | null {
  if (!(err instanceof FlotillaError) || err.status !== status) return null;
  return typeof err.body === "object" ? (err.body as Refusals<K>[S] | null) : null;
}

type Refusals<K extends keyof Operations> = Operations[K] extends { refusals: infer R } ? R : never;

/** `detail` as one line: text unchanged, issues as `options.wait_seconds must be …`. */
export function describeDetail(detail: unknown): string | null {
  if (typeof detail === "string") return detail;
  if (!Array.isArray(detail)) return null;
  return detail
    .map(({ loc = [], msg }: { loc?: unknown[]; msg?: unknown }) => {
      const path = loc[0] === "body" ? loc.slice(1) : loc;
      return issueText(path, String(msg));
    })
    .join("; ");
}
