import type { PopupPolicy } from "#shared/protocol/schema/recipe.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { CdpConnection } from "../cdp/connection.ts";
import type { Pause } from "../record/pauses.ts";
import type { Tracked } from "../record/targets.ts";
import { shortUrl } from "./net-errors.ts";

/** A page that opens windows for ever must not navigate the job's tab for ever. */
const MAX_SAME_TAB = 20;

export interface PopupWatch {
  /** The tab that popups belong to: from now on every other page is one. */
  setMain(target: Tracked): void;
  /** Called for every attached target, before it runs. */
  watch(target: Tracked): void;
  /** Keeps the documents of closing windows from being asked for. */
  pauses: Pause[];
}

/**
 * What becomes of windows that a page opens (rules/hosts#popup-policy): `allow` leaves them, `block` closes them
 * before they have asked for anything, `same_tab` opens their URL in the job's tab instead. A window without a URL of the
 * web has nothing that could be opened elsewhere: `same_tab` leaves it.
 */
export function watchPopups(
  policy: PopupPolicy,
  connection: CdpConnection,
  story: JobStory,
): PopupWatch {
  let main: Tracked | null = null;
  let moved = 0;
  /** URLs that windows were asked for and have not come yet, oldest first. */
  const asked: string[] = [];
  /** Windows on their way out: the id of a page is that of its frame. */
  const closing = new Set<string>();

  const onPopup = (target: Tracked, opened: Tracked) => {
    const url = asked.shift() ?? target.page?.url ?? "";
    const close = () => {
      target.doomed = true;
      closing.add(target.target_id);
      // A target that is held cannot close, and one that is let go asks for what the opener wrote into it: stopped here.
      const stopped = target.session.send("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
      const end = () => connection.root.post("Target.closeTarget", { targetId: target.target_id });
      stopped.then(end, end);
    };
    if (policy === "block") {
      close();
      story.log("info", "browser", `popup blocked: ${shortUrl(url)}`);
      return;
    }
    if (!/^https?:/.test(url)) return;
    close();
    moved += 1;
    if (moved > MAX_SAME_TAB) {
      if (moved === MAX_SAME_TAB + 1)
        story.log("warn", "browser", `more than ${MAX_SAME_TAB} popups: the others are closed`);
      return;
    }
    const referrer = opened.page?.url;
    opened.session.post("Page.navigate", { url, ...(referrer && { referrer }) });
    story.log("info", "browser", `popup opened in the same tab: ${shortUrl(url)}`);
  };
  // Whoever else is attached, as a recipe's Playwright is, may let a window go before it is stopped; no request of it has
  // left the browser then.
  const document: Pause = {
    type: "Document",
    stage: "Request",
    takes: ({ requestId, frameId }) => {
      if (!closing.has(frameId)) return false;
      connection.root.post("Fetch.failRequest", { requestId, errorReason: "Aborted" });
      return true;
    },
  };
  return {
    pauses: policy === "allow" ? [] : [document],
    setMain: (target) => {
      main = target;
    },
    watch: (target) => {
      if (policy === "allow") return;
      if (target.type === "page" && main !== null && target.target_id !== main.target_id)
        return onPopup(target, main);
      // Told to the page that asks, before the window is there.
      if (target.type === "page" || target.type === "iframe")
        target.session.on("Page.windowOpen", ({ url }) => {
          asked.push(url);
        });
    },
  };
}
