import { z } from "zod";
import type { AttemptRow } from "#hub/platform/db/rows.ts";
import { AppError, errorMessage } from "#shared/kit/errors.ts";
import { NetworkLog, Picture } from "#shared/protocol/schema/session.ts";
import { callPage, type ScriptedJob, say } from "./job.ts";
import { pictureName, storeFile } from "./job-output.ts";

/** What planner and judge are shown of a page, and what an attempt leaves behind. */

const LOOK_MS = 20_000;
/** A page in a loop never answers; the first question decides whether it is asked more. */
const ANSWER_MS = 5_000;
const NETWORK_TAIL = 30;
const MAX_URL = 2_000;
/** Characters of the accessibility tree: about 5,000 tokens. */
const MAX_VIEW = 20_000;

const Snapshot = z.object({
  url: z.string(),
  title: z.string(),
  aria: z.string(),
  links: z.array(z.object({ text: z.string(), href: z.string() })),
});

/**
 * The page in words: where it is, its accessibility tree, its links. A page that does not answer is reported as such.
 */
export async function pageView(job: ScriptedJob): Promise<string> {
  if (job.page.mute) return `URL: ${job.at.url}\nThe page hangs: its scripts keep it busy.`;
  try {
    const answer = await callPage(job, "snapshot", { max_chars: MAX_VIEW }, LOOK_MS);
    const { url, title, aria, links } = Snapshot.parse(answer);
    const list = links.map(({ text, href }) => `- ${text || "(no text)"}: ${href}`).join("\n");
    return `URL: ${url}\nTitle: ${title}\n\nAccessibility tree:\n${aria}\n\nLinks:\n${list || "none"}`;
  } catch (err) {
    if (job.signal.aborted) throw err;
    return `URL: ${job.at.url}\nThe page could not be read: ${errorMessage(err)}`;
  }
}

export interface Shot {
  mime: string;
  content_base64: string;
}

/** A screenshot of the page; null when the browser gives none. */
export async function takePicture(job: ScriptedJob): Promise<Shot | null> {
  if (job.page.mute) return null;
  try {
    const args = { format: "png", timeout_s: LOOK_MS / 1_000 };
    return Picture.parse(await callPage(job, "screenshot", args, LOOK_MS));
  } catch (err) {
    if (job.signal.aborted) throw err;
    job.ctx.log.warn({ job_id: job.row.job_id, err: errorMessage(err) }, "no screenshot of a page");
    return null;
  }
}

/** The last `seq` of the session's network log: what comes later belongs to the attempt that begins now. */
export async function networkMark(job: ScriptedJob): Promise<number> {
  const log = await readNetwork(job, 0);
  return log?.next ?? 0;
}

async function readNetwork(job: ScriptedJob, since: number) {
  try {
    return NetworkLog.parse(await callPage(job, "network", { since }, LOOK_MS));
  } catch (err) {
    if (job.signal.aborted) throw err;
    return null;
  }
}

/** Adds the page's URL and its last requests to the attempt, and stores the screenshot. */
export async function gatherEvidence(
  job: ScriptedJob,
  attempt: AttemptRow,
  since: number,
): Promise<Shot | null> {
  job.page.mute = !(await answers(job));
  const shot = await takePicture(job);
  const network = (await readNetwork(job, since))?.entries ?? [];
  const { url, title } = job.at;
  attempt.evidence = {
    url,
    title,
    network: network.slice(-NETWORK_TAIL).map(({ method, url: asked, status }) => ({
      method,
      url: asked.slice(0, MAX_URL),
      status,
    })),
  };
  if (shot) attempt.screenshot = await storePicture(job, attempt.n, shot);
  return shot;
}

/** A screenshot that cannot be stored is missing from the attempt, and changes nothing else. */
async function storePicture(job: ScriptedJob, n: number, shot: Shot): Promise<string | null> {
  try {
    const body = new Uint8Array(Buffer.from(shot.content_base64, "base64"));
    return (await storeFile(job, pictureName(n), shot.mime, body)).name;
  } catch (err) {
    if (job.signal.aborted) throw err;
    await say(job, "warn", "run", `the screenshot was not stored: ${errorMessage(err)}`);
    return null;
  }
}

/** Whether the page runs anything at all. A page that refuses to still answers, and does so at once. */
async function answers(job: ScriptedJob): Promise<boolean> {
  const args = { code: "1", timeout_s: ANSWER_MS / 1_000 };
  return callPage(job, "evaluate", args, ANSWER_MS).then(
    () => true,
    (err: unknown) => !(err instanceof AppError && err.kind === "timed_out"),
  );
}

/** Whether the page asks for a password where somebody can see it. */
export async function asksForPassword(job: ScriptedJob): Promise<boolean> {
  if (job.page.mute) return false;
  const code = `[...document.querySelectorAll('input[type="password"]')].some((e) => e.checkVisibility())`;
  const args = { code, timeout_s: LOOK_MS / 1_000 };
  const answer = await callPage(job, "evaluate", args, LOOK_MS).catch(() => false);
  return answer === true;
}
