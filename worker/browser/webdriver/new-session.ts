import { callWithin } from "#shared/kit/call-within.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { isObject } from "#shared/kit/is-object.ts";
import { readUpTo } from "#shared/kit/read-up-to.ts";
import { WEBDRIVER } from "#shared/protocol/limits.ts";
import { WebDriverError } from "#shared/protocol/webdriver-error.ts";

/** chromedriver's own session on the browser. */
export interface DriverSession {
  /** What the paths of its commands follow. */
  readonly base: string;
  /** What it told of itself, without what concerns this machine alone. */
  readonly capabilities: Record<string, unknown>;
}

const OPTIONS = "goog:chromeOptions";
type Json = Record<string, unknown>;

/**
 * Attaches chromedriver to the browser behind `address`, with capabilities that the hub has judged.
 * @throws WebDriverError with chromedriver's own words, DeadlineError when it says nothing
 */
export async function newDriverSession(
  clock: Clock,
  base: string,
  address: string,
  capabilities: Json,
): Promise<DriverSession> {
  const options = isObject(capabilities[OPTIONS]) ? capabilities[OPTIONS] : {};
  const alwaysMatch = {
    ...capabilities,
    [OPTIONS]: { ...options, debuggerAddress: address },
  };
  const ask = async (signal: AbortSignal) => {
    const answer = await fetch(`${base}/session`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ capabilities: { alwaysMatch } }),
      signal,
    });
    const { bytes } = await readUpTo(answer, WEBDRIVER.answer_bytes);
    return { ok: answer.ok, text: new TextDecoder().decode(bytes) };
  };
  const limit = { what: "chromedriver", ms: WEBDRIVER.start_ms };
  const { ok, text } = await callWithin(clock, limit, ask);
  const { value } = JSON.parse(text) as { value?: Json };
  if (!ok || typeof value?.sessionId !== "string")
    throw new WebDriverError("session not created", wordsOf(value?.message));
  const told = isObject(value.capabilities) ? value.capabilities : {};
  return {
    base: `${base}/session/${encodeURIComponent(value.sessionId)}`,
    capabilities: ofBrowser(told),
  };
}

/** What follows in brackets is about the session that there is not. */
const wordsOf = (message: unknown): string =>
  String(message ?? "chromedriver gave no reason")
    .split("\n")
    .filter((line) => !line.startsWith("  ("))
    .join(" ");

/** Without the address of the relay, and the directories of the run. */
function ofBrowser(told: Json): Json {
  const { [OPTIONS]: _options, chrome, ...rest } = told;
  if (!isObject(chrome)) return rest;
  const { userDataDir: _dir, ...shown } = chrome;
  return { ...rest, chrome: shown };
}
