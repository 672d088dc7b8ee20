import { callWithin } from "#shared/kit/call-within.ts";
import { type Clock, setDeadline } from "#shared/kit/clock.ts";
import { type BrowserCookie, cookieHeader } from "./cookies.ts";
import { type RequestIdentity, VideoError } from "./video-settings.ts";

export interface RequestDeps {
  /** The gate. */
  proxy: string;
  cookies: readonly BrowserCookie[];
  signal: AbortSignal;
}

/** What reads manifests. */
export interface ManifestDeps extends RequestDeps {
  clock: Clock;
}

const MAX_HOPS = 5;
const ANSWER_MS = 30_000;
/** A playlist of one day in pieces of 2 s has 4 MB. */
const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;

/** Opens a URL as the browser would, and follows redirects with the cookies of each host. @throws VideoError. */
export async function request(
  { proxy, cookies, signal }: RequestDeps,
  url: string,
  { user_agent, referer, origin }: RequestIdentity,
): Promise<Response> {
  for (let at = url, hop = 0; hop <= MAX_HOPS; hop += 1) {
    const cookie = cookieHeader(cookies, at);
    const late = new AbortController();
    const cancel = setDeadline(ANSWER_MS, () => late.abort(new VideoError("no answer")));
    const response = await fetch(at, {
      proxy,
      redirect: "manual",
      keepalive: false,
      signal: AbortSignal.any([signal, late.signal]),
      headers: {
        "user-agent": user_agent,
        ...(referer === null ? {} : { referer }),
        ...(origin === null ? {} : { origin }),
        ...(cookie === "" ? {} : { cookie }),
      },
    }).finally(cancel);
    const location = response.headers.get("location");
    if (response.status >= 300 && response.status < 400 && location !== null) {
      await response.body?.cancel();
      const next = URL.canParse(location, at) ? new URL(location, at) : null;
      if (!next || !/^https?:$/.test(next.protocol)) throw new VideoError("a bad redirect");
      at = next.href;
      continue;
    }
    if (response.ok) return response;
    await response.body?.cancel();
    throw new VideoError(`the server answered ${response.status}`);
  }
  throw new VideoError("too many redirects");
}

/** The text of a manifest. @throws VideoError, DeadlineError when it does not come in time. */
export function readManifest(
  deps: ManifestDeps,
  url: string,
  identity: RequestIdentity,
): Promise<string> {
  const limit = { what: "the manifest", ms: ANSWER_MS, signal: deps.signal };
  return callWithin(deps.clock, limit, async (signal) =>
    textOf(await request({ ...deps, signal }, url, identity)),
  );
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_MANIFEST_BYTES) throw new VideoError("the manifest is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
