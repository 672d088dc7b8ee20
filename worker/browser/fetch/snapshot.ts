import type { Clock } from "#shared/kit/clock.ts";
import { MAX_LINKS } from "#shared/protocol/limits.ts";
import type { LinkList } from "#shared/protocol/schema/asset.ts";
import type { CdpSession, Protocol, SendOptions } from "../cdp/connection.ts";
import { evaluateInOwnWorld } from "../cdp/own-world.ts";
import type { Tracked } from "../record/targets.ts";

/** How long a page may take to hand over its DOM; a page in a loop never does, a busy machine needs longer. */
const PAGE = { timeout_ms: 20_000, longest_ms: 120_000 };
/** Child frames are optional: a few silent ones must not delay the job. */
const FRAMES_TIMEOUT_MS = 5_000;
const FRAMES_AT_ONCE = 16;
const MAX_ICONS = 20;

type Link = LinkList["links"][number];

export interface PageSnapshot {
  url: string;
  title: string;
  /** The DOM as it is now, with its doctype. */
  html: string;
  /** Addresses of its icons, as it names them. */
  icons: string[];
}

interface FrameAnswer extends PageSnapshot {
  links: Omit<Link, "page_url">[];
}

/** Runs in a world of its own, where the page cannot have replaced what it uses. Returns a `FrameAnswer`. */
const readFrame = (with_html: boolean): string => `(() => {
  const type = document.doctype;
  const ids = type?.publicId ? ' PUBLIC "' + type.publicId + '"' : type?.systemId ? " SYSTEM" : "";
  const system = type?.systemId ? ' "' + type.systemId + '"' : "";
  const doctype = type ? "<!DOCTYPE " + type.name + ids + system + ">\\n" : "";
  const seen = new Set();
  const links = [];
  for (const a of document.querySelectorAll("a[*|href], area[href]")) {
    const raw = typeof a.href === "string" ? a.href : (a.href?.baseVal ?? "");
    const url = URL.canParse(raw, document.baseURI) ? new URL(raw, document.baseURI).href : raw;
    if (url === "" || seen.has(url)) continue;
    seen.add(url);
    const text = a.textContent || a.getAttribute("aria-label") || a.getAttribute("alt") || "";
    links.push({
      url: url.slice(0, 16384),
      text: text.replace(/\\s+/g, " ").trim().slice(0, 500),
      rel: a.getAttribute("rel") ?? "",
    });
  }
  const html = ${with_html} ? doctype + (document.documentElement?.outerHTML ?? "") : "";
  const named = ${with_html} ? [...document.querySelectorAll('link[rel~="icon" i]')] : [];
  const icons = named.slice(0, ${MAX_ICONS}).map((link) => String(link.href).slice(0, 16384));
  return { url: location.href, title: document.title ?? "", html, links, icons };
})()`;

/**
 * The main frame's DOM, and the links of all frames, cross-process ones included.
 * @throws DeadlineError when the page does not answer; CdpError when it is gone.
 */
export async function snapshotPage(
  clock: Clock,
  main: Tracked,
  frames: readonly Tracked[],
): Promise<{ page: PageSnapshot; links: Link[] }> {
  const { links: main_links, ...page } = await evaluate(main.session, main.target_id, true, PAGE);
  const links = new Map<string, Link>();
  const add = (answer: Pick<FrameAnswer, "links" | "url">) => {
    for (const link of answer.links)
      if (!links.has(link.url) && links.size < MAX_LINKS)
        links.set(link.url, { ...link, page_url: answer.url });
  };
  add({ links: main_links, url: page.url });
  const until = clock.monotonic() + FRAMES_TIMEOUT_MS;
  const children = await listFrames([main, ...frames], main.target_id);
  const next = children.values();
  const work = async () => {
    for (const { session, frame_id } of next) {
      if (clock.monotonic() >= until) return;
      const answer = await evaluate(session, frame_id, false, {
        timeout_ms: FRAMES_TIMEOUT_MS,
      }).catch(() => null);
      if (answer) add(answer);
    }
  };
  await Promise.all(Array.from({ length: FRAMES_AT_ONCE }, work));
  return { page, links: [...links.values()] };
}

async function listFrames(
  targets: readonly Tracked[],
  main_id: string,
): Promise<{ session: CdpSession; frame_id: string }[]> {
  const lists = await Promise.all(
    targets.map(async ({ session }) => {
      const answer = await session
        .send("Page.getFrameTree", undefined, { timeout_ms: FRAMES_TIMEOUT_MS })
        .catch(() => null);
      return answer ? frameIds(answer.frameTree).map((frame_id) => ({ session, frame_id })) : [];
    }),
  );
  return lists.flat().filter(({ frame_id }) => frame_id !== main_id);
}

const frameIds = (tree: Protocol.Page.FrameTree): string[] => [
  tree.frame.id,
  ...(tree.childFrames ?? []).flatMap(frameIds),
];

const evaluate = async (
  session: CdpSession,
  frame_id: string,
  with_html: boolean,
  options: SendOptions,
): Promise<FrameAnswer> =>
  (await evaluateInOwnWorld(session, frame_id, readFrame(with_html), options)) as FrameAnswer;
