import { givenFields } from "#shared/kit/given-fields.ts";
import type { OneShotCall } from "#shared/protocol/schema/one-shot.ts";
import { scalePage } from "./picture.ts";
import { attempt, type Shot, stepMs } from "./shot.ts";
import { listenFor } from "./wait-for-event.ts";

/** Before the page: cookies, headers, and the scale of its window. */
async function prepare(shot: Shot): Promise<void> {
  const { call, page, setCookies } = shot;
  const { url, cookies, extra_headers } = call;
  if (cookies.length > 0)
    await setCookies(
      cookies.map((cookie) =>
        cookie.url === undefined && cookie.domain === undefined && url !== undefined
          ? { name: cookie.name, value: cookie.value, ...attributesOf(cookie), url }
          : cookie,
      ),
    );
  if (Object.keys(extra_headers).length > 0) await page.setExtraHTTPHeaders(extra_headers);
  await scalePage(shot);
}

type Cookie = OneShotCall["cookies"][number];

/** A cookie is given either a URL or a path. */
const attributesOf = ({ expires, httpOnly, secure, sameSite }: Cookie): Partial<Cookie> =>
  givenFields({ expires, httpOnly, secure, sameSite });

async function showHtml({ call, page, left }: Shot, html: string, ms: number): Promise<void> {
  const waitUntil = call.wait_until;
  if (!call.wait_for_event || waitUntil === "commit")
    return page.setContent(html, { waitUntil, timeout: ms });
  const until = left() - ms;
  await page.setContent(html, { waitUntil: "commit", timeout: ms });
  // A document that is written takes every listener of the one before away.
  await listenFor(page, call.wait_for_event.event);
  await page.waitForLoadState(waitUntil, { timeout: Math.max(1, left() - until) });
}

/** Opens the page. @returns the status of its answer; null where it asked no server, or has not answered in time. */
export async function openPage(shot: Shot): Promise<number | null> {
  const { call, page, act } = shot;
  await prepare(shot);
  const ms = stepMs(shot, call.load_timeout_s);
  if (call.html !== undefined) {
    await attempt(shot, showHtml(shot, call.html, ms));
    return null;
  }
  if (call.wait_for_event) await listenFor(page, call.wait_for_event.event);
  const { url = "about:blank", wait_until, referer } = call;
  const where = referer === undefined ? { url, wait_until } : { url, wait_until, referer };
  return (await attempt(shot, act("navigate", where, ms)))?.status ?? null;
}
