import type { CaptureFacts } from "#hub/platform/db/figures.ts";
import type { Db } from "#hub/platform/db/storage.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { FIRST_HTTP_ERROR } from "#shared/protocol/limits.ts";
import type { FleetProblem, HostFigures } from "#shared/protocol/schema/figures.ts";

/** Hosts whose captures fail or take long, and why (rules/figures#hosts). */

/** Captures of a host that are looked at. */
const PER_HOST = 100;
/** Newest captures of all hosts among which the slowest are looked for. */
const SAMPLE = 1_000;
const MOST_HOSTS = 8;
/** Of fewer captures a median says little. */
const FEWEST_FOR_SLOW = 3;
/** Newest captures of a host by which it is judged, and how many of them must go wrong. */
const JUDGED = 15;
const FEWEST_LOGINS = 3;
const FEWEST_FAILURES = 5;
const MAX_ERROR = 300;

const LOGIN_PATH =
  /(^|[/_.-])(log-?in|sign-?in|sign_?on|sso|auth|authenticate|authorize|session\/new|anmelden|anmeldung)([/_.-]|$)/i;

const pathOf = (url: string | null): string => {
  if (url === null || !URL.canParse(url)) return "";
  const { host, pathname } = new URL(url);
  // Many have a host for it: login.example.com.
  return `${host}${pathname}`;
};

/** It was to open another page, and ended on one that asks for a login; or the host's own login did not work. */
export function endedAtLogin({ url, final_url, error }: CaptureFacts): boolean {
  if (error?.startsWith("login failed") === true) return true;
  return LOGIN_PATH.test(pathOf(final_url)) && !LOGIN_PATH.test(pathOf(url));
}

const isHttpError = ({ status, http_status }: CaptureFacts): boolean =>
  status === "completed" && (http_status ?? 0) >= FIRST_HTTP_ERROR;
const wentWrong = (one: CaptureFacts): boolean => one.status === "failed" || isHttpError(one);

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  const [low = 0, high = 0] = [sorted[Math.floor(half)], sorted[Math.ceil(half)]];
  return Math.round((low + high) / 2);
}

const durations = (captures: readonly CaptureFacts[]): number[] =>
  captures.flatMap(({ status, started_at, finished_at }) =>
    status === "cancelled" || started_at === null || finished_at === null
      ? []
      : [Math.max(0, finished_at - started_at)],
  );

const cut = (text: string): string =>
  text.length > MAX_ERROR ? `${text.slice(0, MAX_ERROR)}…` : text;

/** What a capture that went wrong says of it. */
const whyOf = ({ error, http_status }: CaptureFacts): string =>
  error === null ? `the page answered with ${http_status ?? "an error"}` : cut(error);

export function hostFigures(host: string, captures: readonly CaptureFacts[]): HostFigures {
  const of = (holds: (one: CaptureFacts) => boolean) => captures.filter(holds).length;
  const wrong = captures.find(wentWrong);
  return {
    host,
    captures: captures.length,
    completed: of((one) => one.status === "completed" && !isHttpError(one)),
    http_error: of(isHttpError),
    failed: of(({ status }) => status === "failed"),
    login_needed: of((one) => one.status === "completed" && endedAtLogin(one)),
    median_ms: median(durations(captures)),
    error: wrong === undefined ? null : whyOf(wrong),
  };
}

/** When the unbroken row of such captures began that the newest is the end of. */
function sinceOf(
  captures: readonly CaptureFacts[],
  holds: (one: CaptureFacts) => boolean,
): string | null {
  const other = captures.findIndex((one) => !holds(one));
  const first = captures[other === -1 ? captures.length - 1 : other - 1];
  return first === undefined ? null : isoTime(first.created_at);
}

const most = (texts: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "";
};

/**
 * What is wrong with a host, by its newest captures; null while the newest of them went well, because then it is over.
 * @param captures that have ended, the newest first.
 */
export function hostProblem(host: string, captures: readonly CaptureFacts[]): FleetProblem | null {
  const judged = captures.filter(({ status }) => status !== "cancelled").slice(0, JUDGED);
  const [newest] = judged;
  if (newest === undefined) return null;
  const at_login = judged.filter(endedAtLogin);
  if (endedAtLogin(newest) && at_login.length >= FEWEST_LOGINS && isMost(at_login, judged))
    return {
      kind: "login_needed",
      severity: "bad",
      subject: host,
      detail: `${at_login.length} of the last ${judged.length} captures ended on its sign-in page`,
      since: sinceOf(judged, endedAtLogin),
      url: newest.url,
    };
  const failed = judged.filter(wentWrong);
  if (!wentWrong(newest) || failed.length < FEWEST_FAILURES || !isMost(failed, judged)) return null;
  return {
    kind: "host_failing",
    severity: failed.some(({ status }) => status === "failed") ? "bad" : "warn",
    subject: host,
    detail: `${failed.length} of the last ${judged.length} captures went wrong: ${most(failed.map(whyOf))}`,
    since: sinceOf(judged, wentWrong),
    url: null,
  };
}

const isMost = (some: readonly unknown[], all: readonly unknown[]): boolean =>
  some.length * 2 >= all.length;

/** The hosts with the highest medians among the newest captures, the slowest first. */
export function slowestOf(sample: readonly CaptureFacts[]): string[] {
  const ran = sample.filter(({ status }) => status === "completed");
  return [...Map.groupBy(ran, ({ host }) => host)]
    .filter(([, captures]) => captures.length >= FEWEST_FOR_SLOW)
    .map(([host, captures]) => ({ host, ms: median(durations(captures)) ?? 0 }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, MOST_HOSTS)
    .map(({ host }) => host);
}

export interface HostsFigures {
  failing: HostFigures[];
  slow: HostFigures[];
  problems: FleetProblem[];
}

/** @param failing hosts with failures since `from`, most of them first. */
export async function readHosts(
  db: Pick<Db, "figures">,
  from: number,
  failing: readonly string[],
): Promise<HostsFigures> {
  const worst = failing.slice(0, MOST_HOSTS);
  const sample = await db.figures.newest(from, SAMPLE);
  const slow = slowestOf(sample);
  // A sign-in page answers with 200, so that nothing has failed.
  const asked = [...Map.groupBy(sample.filter(endedAtLogin), ({ host }) => host)]
    .sort((a, b) => b[1].length - a[1].length)
    .slice(0, MOST_HOSTS)
    .map(([host]) => host);
  const troubled = [...new Set([...worst, ...asked])];
  const captures = new Map<string, CaptureFacts[]>();
  for (const host of new Set([...troubled, ...slow]))
    captures.set(host, await db.figures.newest(from, PER_HOST, host));
  const figuresOf = (hosts: readonly string[]) =>
    hosts.map((host) => hostFigures(host, captures.get(host) ?? []));
  return {
    failing: figuresOf(troubled)
      .sort((a, b) => troubleOf(b) - troubleOf(a))
      .slice(0, MOST_HOSTS),
    slow: figuresOf(slow),
    problems: troubled.flatMap((host) => hostProblem(host, captures.get(host) ?? []) ?? []),
  };
}

const troubleOf = ({ failed, http_error, login_needed }: HostFigures): number =>
  failed + http_error + login_needed;
