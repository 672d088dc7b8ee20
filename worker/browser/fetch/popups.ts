import type { PopupPolicy } from "#shared/protocol/schema/recipe.ts";
import type { JobStory } from "#worker/link/story.ts";
import type { CdpConnection } from "../cdp/connection.ts";
import type { Pause } from "../record/pauses.ts";
import type { Tracked } from "../record/targets.ts";
import { shortUrl } from "./net-errors.ts";

/** A page that opens windows forever must not navigate the job's tab forever. */
const MAX_SAME_TAB = 20;

export interface PopupWatch {
  /** The tab that popups belong to: from now on every other page is a popup. */
  setMain(target: Tracked): void;
  /** Called for every attached target, before it runs. */
  watch(target: Tracked): void;
  /** Prevents requests for the documents of closing windows. */
  pauses: Pause[];
}

/**
 * What becomes of windows that a page opens (rules/hosts#popup-policy): `allow` leaves them, `block` closes them before
 * they have requested anything, `same_tab` opens their URL in the job's tab instead. A window without a web URL cannot
 * be opened elsewhere, so `same_tab` leaves it.
 */
export function watchPopups(
  policy: PopupPolicy,
  connection: CdpConnection,
  story: JobStory,
): PopupWatch {
  let main: Tracked | null = null;
  let moved = 0;
  /** URLs of windows that were requested and have not opened yet, oldest first. */
  const asked: string[] = [];
  /** Windows that are closing: the id of a page is that of its frame. */
  const closing = new Set<string>();

  const onPopup = (target: Tracked, opened: Tracked) => {
    const url = asked.shift() ?? target.page?.url ?? "";
    const close = () => {
      target.doomed = true;
      closing.add(target.target_id);
      // A target that is held cannot close, and one that is released requests what the opener wrote into it; this
      // stops those requests.
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
  // Another attached client, such as a recipe's Playwright, may release a window before it is stopped; none of its
  // requests has left the browser by then.
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
      // The page that opens the window gets this event before the window exists.
      if (target.type === "page" || target.type === "iframe")
        target.session.on("Page.windowOpen", ({ url }) => {
          asked.push(url);
        });
    },
  };
}
