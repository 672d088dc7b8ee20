import { FlotillaError } from "#shared/client/errors.ts";
import { type CallOptions, createHttp, type Http } from "#shared/client/http.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { tlsTrouble } from "#shared/protocol/tls-trouble.ts";
import { authorityOption } from "#shared/protocol/trust.ts";
import { EXIT, UsageError } from "./exit.ts";
import { nextStep } from "./next-step.ts";
import { printable, type Terminal } from "./print.ts";

/** @throws UsageError when `address` is not an http(s) or ws(s) URL. */
export function createHubClient(address: string, token: string | undefined): Http {
  const spelled = address.includes("://") ? address : `http://${address}`;
  const parsed = URL.canParse(spelled) ? new URL(spelled) : null;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol))
    throw new UsageError(`SVC_HUB: "${address}" is not an http address`);
  parsed.protocol = parsed.protocol.replace("ws", "http");
  return createHttp({ base_url: parsed.href, ...(token && { token }), ...authorityOption() });
}

/**
 * The same client, whose reads end with `signal`. A call that changes something is waited for, so that nobody has to guess
 * whether it did; one that opens a session even where the command gives it a signal, because only who has its id ends it.
 */
export function readsUntil(signal: AbortSignal, http: Http): Http {
  const ending = (operation: string, call: CallOptions = {}): never => {
    if (operation.startsWith("GET ")) return { signal, ...call } as never;
    return (operation === "POST /sessions" ? { ...call, signal: undefined } : call) as never;
  };
  return {
    ...http,
    call: (operation, ...[call]) => http.call(operation, ending(operation, call)),
    open: (operation, ...[call]) => http.open(operation, ending(operation, call)),
  };
}

/** Whether no answer came; exit code 3. */
export const isAway = (err: unknown): boolean => err instanceof FlotillaError && err.status === 0;

/** A server that expects TLS silently closes anything else. */
const whyNot = (hub: string, cause: unknown): string => {
  const closed = cause instanceof Error && "code" in cause && cause.code === "ECONNRESET";
  const hint = closed && hub.startsWith("http:") ? " (does it speak https:// instead?)" : "";
  return errorMessage(cause) + hint;
};

/** The message for a person about a call without an answer. */
function awayText(hub: string, err: Error): string {
  const cause = err.cause ?? err;
  return `hub ${hub} is not reachable: ${tlsTrouble(cause) ?? whyNot(hub, cause)}`;
}

/** Prints why a call went wrong, and on a line of its own what to type next. */
function tellWhy(
  terminal: Pick<Terminal, "err">,
  why: string,
  failed: Parameters<typeof nextStep>[0],
): void {
  terminal.err(`flotilla: ${printable(why)}\n`);
  const next = nextStep(failed);
  if (next !== null) terminal.err(`try: ${next}\n`);
}

/** Prints why the hub at `hub` did not answer a call, or refused it, and what to type next. */
export function tellFailure(terminal: Pick<Terminal, "err">, hub: string, err: Error): void {
  if (err instanceof FlotillaError && !isAway(err)) tellWhy(terminal, err.message, err);
  else tellWhy(terminal, awayText(hub, err), { status: 0, message: err.message });
}

/**
 * Prints why the hub refused a call.
 * @returns the exit code.
 * @throws `err` when it is not a refusal
 */
export function tellRefusal(terminal: Terminal, err: unknown): number {
  if (!(err instanceof FlotillaError) || isAway(err)) throw err;
  tellWhy(terminal, err.message, err);
  return err.status === 400 || err.status === 422 ? EXIT.usage : EXIT.failed;
}

/** Prints what a call was answered, or why it was refused. @returns the exit code */
export async function tell<T>(
  terminal: Terminal,
  asked: Promise<T>,
  textOf: (answer: T) => string,
): Promise<number> {
  try {
    terminal.out(`${textOf(await asked)}\n`);
    return EXIT.ok;
  } catch (err) {
    return tellRefusal(terminal, err);
  }
}

/** For what is removed: that it is gone already is as good. */
export function unlessGone(err: unknown): void {
  if (!(err instanceof FlotillaError) || err.status !== 404) throw err;
}

/**
 * Makes a call for each id: one that is refused does not keep the others, and is told.
 * @returns those that were not refused, and the highest exit code
 */
export async function eachById(
  { terminal, json }: { terminal: Terminal; json: boolean },
  ids: readonly string[],
  call: (id: string) => Promise<unknown>,
  doneText: (id: string) => string,
): Promise<{ done: string[]; code: number }> {
  const done: string[] = [];
  let code: number = EXIT.ok;
  for (const id of ids)
    try {
      await call(id);
      done.push(id);
      if (!json) terminal.out(`${doneText(printable(id))}\n`);
    } catch (err) {
      code = Math.max(code, tellRefusal(terminal, err));
    }
  return { done, code };
}

/** Parts of a query or a body as they were typed: what they must be, the hub says. */
export const asTyped = (
  query: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): never => query as never;
