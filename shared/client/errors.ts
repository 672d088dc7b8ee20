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
}

/** `detail` as one line: text as it is, issues as `options.wait_seconds: must be …`. */
export function describeDetail(detail: unknown): string | null {
  if (typeof detail === "string") return detail;
  if (!Array.isArray(detail)) return null;
  return detail
    .map((issue: { loc?: unknown[]; msg?: unknown }) => {
      const path = (issue.loc ?? []).filter((part) => part !== "body").join(".");
      return path === "" ? String(issue.msg) : `${path}: ${String(issue.msg)}`;
    })
    .join("; ");
}
