import { DeadlineError } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import type { FinalState } from "#shared/protocol/schema/job.ts";
import type { Recorder } from "../record/recorder.ts";
import type { Tracked } from "../record/targets.ts";
import type { FetchContext } from "./fetch-context.ts";
import { holdNetwork, type Page, sizeOf, wholePage, windowOf } from "./pictures.ts";

/** How long a page may take to answer at all, and the pictures together. Idle machines need a tenth of it. */
const PICTURE_MS = { first: 3_000, whole: 10_000 };

type Context = Pick<
  FetchContext,
  "run" | "recorder" | "trouble" | "outcome" | "settings" | "icons"
>;

/**
 * Takes pictures of the page at the end of the run, and names its icon (rules/documents#final-state). What cannot be had
 * in time is missing, and changes nothing else about the job. Called once the bodies have been read, because the page
 * has no network meanwhile.
 */
export async function takeFinalState(ctx: Context): Promise<void> {
  const { run, outcome, settings, recorder } = ctx;
  const shown = pageAtTheEnd(ctx);
  if (!run.extras.final_state || !shown) return;
  const url = outcome.final_url ?? run.url;
  const taken: FinalState = {
    screenshot: false,
    thumbnail: false,
    favicon: iconOf(ctx.icons, url, recorder),
  };
  outcome.final_state = taken;
  const { clock, picture_ms = PICTURE_MS } = settings;
  const since = clock.monotonic();
  const spent = () => Math.round(clock.monotonic() - since);
  const { session } = shown;
  const page: Page = {
    session,
    // Its frames of other sites are targets of their own.
    parts: recorder.targets.all().filter(isPartOf(shown)),
    left_ms: () => Math.max(1, picture_ms.whole - spent()),
  };
  if (recorder.isNavigating(shown)) session.post("Page.stopLoading");
  try {
    await takePictures(ctx, page, taken, picture_ms.first);
    run.story.log("info", "page", `took pictures of the page in ${spent()} ms`, { ms: spent() });
  } catch (err) {
    const why = err instanceof DeadlineError ? "it did not answer in time" : errorMessage(err);
    const what = taken.thumbnail ? "no screenshot of the whole page" : "no pictures of the page";
    run.story.log("info", "page", `${what}: ${why}`);
  }
}

async function takePictures(
  { run: { options, sink } }: Context,
  page: Page,
  taken: FinalState,
  first_ms: number,
): Promise<void> {
  // Somebody goes on in a kept session: its page is not to lose what it asks for.
  const hold = options.keep_session ? null : holdNetwork(page);
  try {
    const [size] = await Promise.all([sizeOf(page, first_ms), hold?.held]);
    if (size === null) return;
    sink.putDocument("thumbnail.webp", await windowOf(page, size));
    taken.thumbnail = true;
    sink.putDocument("screenshot.png", await wholePage(page, size));
    taken.screenshot = true;
  } finally {
    hold?.release();
  }
}

/** The page of the job; the newest one when a script has closed it. */
function pageAtTheEnd({ run, recorder, trouble }: Context): Tracked | null {
  const pages = recorder.targets.pages().filter(({ session }) => !session.is_closed);
  const newest = run.options.mode === "fetch" ? undefined : pages.at(-1);
  return pages.find(trouble.isMain) ?? newest ?? null;
}

const isPartOf = (shown: Tracked) => (target: Tracked) =>
  target.page?.target_id === shown.target_id && /^(page|iframe)$/.test(target.type);

/** The first of its icons that the browser has loaded; the hub looks at what it is. */
export function iconOf(
  icons: readonly string[],
  page_url: string,
  recorder: Pick<Recorder, "wholeAsset">,
): string | null {
  const usual = URL.canParse("/favicon.ico", page_url)
    ? [new URL("/favicon.ico", page_url).href]
    : [];
  for (const url of [...icons, ...usual]) {
    const name = /\.svg($|[?#])/i.test(url) ? null : recorder.wholeAsset(url);
    if (name !== null) return name;
  }
  return null;
}

/** Says only what the hub has stored. */
export const withoutFailed = (state: FinalState, failed: readonly string[]): FinalState => ({
  screenshot: state.screenshot && !failed.includes("screenshot.png"),
  thumbnail: state.thumbnail && !failed.includes("thumbnail.webp"),
  favicon: state.favicon !== null && failed.includes(state.favicon) ? null : state.favicon,
});
