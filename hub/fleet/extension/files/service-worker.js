import { inParts, readCookies } from "./cookies.js";
import { readSettings, saveStatus } from "./settings.js";

/** How long the hub may take to answer one call. */
const PATIENCE_MS = 20_000;

/** The host of the tab in front; throws a sentence when that is no page of the web. */
async function activeHost() {
  const [tab] = await chrome.tabs.query({ active: true, lastFocusedWindow: true });
  const url = tab?.url && URL.canParse(tab.url) ? new URL(tab.url) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(
      "The active tab is not a web page: open the site whose cookies you want to send.",
    );
  return url.hostname;
}

async function push({ hub, token }, body) {
  let answer;
  try {
    answer = await fetch(`${hub}/hosts/cookies/sync`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(token === "" ? {} : { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      credentials: "omit",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (err) {
    throw new Error(`The hub at ${hub} does not answer: ${err.message}`);
  }
  const reply = await answer.json().catch(() => ({}));
  if (answer.ok) return reply.hosts ?? {};
  const detail = typeof reply.detail === "string" ? reply.detail : JSON.stringify(reply.detail);
  throw new Error(`The hub refused it (${answer.status}): ${String(detail).slice(0, 300)}`);
}

const counted = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** Sends the cookies of the active host, or of all; what came of it is kept for the popup. */
async function sync(scope) {
  const settings = await readSettings();
  try {
    const host = scope === "all" ? null : await activeHost();
    const cookies = await readCookies(host);
    const hosts = {};
    for (const part of inParts(cookies))
      Object.assign(
        hosts,
        await push(settings, { scope, ...(host === null ? {} : { host }), cookies: part }),
      );
    const of = host ?? counted(Object.keys(hosts).length, "host");
    const text = `sent ${counted(cookies.length, "cookie")} of ${of}`;
    return { ok: true, at: Date.now(), text, hosts };
  } catch (err) {
    return { ok: false, at: Date.now(), text: err.message, hosts: {} };
  }
}

/** One at a time: a second click waits for the first. */
let running = Promise.resolve();

chrome.runtime.onMessage.addListener((message, _sender, reply) => {
  if (message?.type !== "sync") return false;
  running = running.then(async () => {
    const status = await sync(message.scope === "all" ? "all" : "active-host");
    await saveStatus(status);
    reply(status);
  });
  return true;
});
