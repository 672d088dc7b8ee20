import { resolve } from "node:path";
import { sessionCalls } from "#shared/client/sessions.ts";
import { humanSize } from "#shared/kit/words.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { FlagValues } from "./args.ts";
import { checkTarget } from "./check-target.ts";
import { type ClientCall, jsonText, lastOf, numberOf, refuseFlags } from "./client-call.ts";
import { EXIT, UsageError } from "./exit.ts";
import { SESSION_FLAGS } from "./flags.ts";
import { tellRefusal, unlessGone } from "./hub-client.ts";
import { kindOfId } from "./id-kind.ts";
import { printable } from "./print.ts";
import { startProgress } from "./progress.ts";
import { printFile, saveFile } from "./save-file.ts";
import { sessionOptions } from "./session-options.ts";

/** `flotilla screenshot` and `flotilla pdf` (rules/clients#pictures-by-command). */

const SHOT_MS = 90_000;
const CLOSE_MS = 15_000;
/** One that this program could not close ends by itself. */
const IDLE_S = 120;
const MAX_WAIT_S = 60;

/** `id`: of a session, or a job. */
type Shoot = (id: string, signal: AbortSignal) => Promise<Response>;

/** What a picture is of, and its format; what they may be, the hub says. */
function pictureOf(flags: FlagValues): Record<string, unknown> & { format: string } {
  const picture: Record<string, unknown> = {};
  if (flags["full-page"]) picture.full_page = true;
  if (flags.quality) picture.quality = numberOf(flags, "quality", { min: 1, max: 100, usual: 80 });
  const selector = lastOf(flags, "selector");
  if (selector !== undefined) picture.selector = selector;
  return Object.assign(picture, { format: lastOf(flags, "format") ?? "png" });
}

function screenshotOf({ client, flags }: ClientCall): { shoot: Shoot; ext: string } {
  const picture = pictureOf(flags);
  const json = Object.assign({ timeout_s: SHOT_MS / 1_000 - 10 }, picture) as never;
  const headers = { accept: "image/*" };
  return {
    ext: picture.format,
    shoot: (sid, signal) =>
      client.open("POST /sessions/{sid}/screenshot", {
        params: { sid },
        json,
        headers,
        timeout_ms: SHOT_MS,
        signal,
      }),
  };
}

function pdfOf({ client, flags }: ClientCall): { shoot: Shoot; ext: string } {
  const json = {
    format: lastOf(flags, "paper") ?? "A4",
    landscape: flags.landscape !== undefined,
    print_background: flags["no-background"] === undefined,
    timeout_s: SHOT_MS / 1_000 - 10,
  };
  const headers = { accept: "application/pdf" };
  return {
    ext: "pdf",
    shoot: (sid, signal) =>
      client.open("POST /sessions/{sid}/pdf", {
        params: { sid },
        json,
        headers,
        timeout_ms: SHOT_MS,
        signal,
      }),
  };
}

/** Opens a session for the time of `use`, and closes it whatever happens. */
async function inSession(
  { client, flags, signal }: ClientCall,
  url: string,
  use: (sid: string) => Promise<void>,
): Promise<void> {
  const options: Record<string, unknown> = {
    idle_ttl_s: IDLE_S,
    record: "off",
    ...sessionOptions(flags),
    url,
  };
  // Pages are printed, and pictures taken, without a display, unless somebody wants to see it.
  if (!flags.headful) options.headless = true;
  const wait_s = numberOf(flags, "wait", { min: 0, max: MAX_WAIT_S, usual: 0 });
  const { session_id: sid } = await sessionCalls(client).open(options as never, { signal });
  try {
    if (wait_s > 0)
      await client.call("POST /sessions/{sid}/wait", {
        params: { sid },
        json: { seconds: wait_s, timeout_s: wait_s + 10 },
        timeout_ms: (wait_s + 20) * 1_000,
        signal,
      });
    await use(sid);
  } finally {
    // Ctrl-C must not leave it open either, so this call has a signal of its own.
    await client
      .call("DELETE /sessions/{sid}", { params: { sid }, timeout_ms: CLOSE_MS })
      .catch(unlessGone);
  }
}

/** For a running job, a screenshot of the page as it is now, which is also stored among its assets; for one that has ended, the screenshot taken at its end. */
async function shootJob({ client, flags }: ClientCall, id: string): Promise<Shoot> {
  const { status } = await client.call("GET /jobs/{id}", { params: { id } });
  if (status === "running") {
    const json = pictureOf(flags) as never;
    const asked = { params: { id }, json, timeout_ms: SHOT_MS };
    return async (_, signal) => {
      const { name } = await client.call("POST /jobs/{id}/screenshot/capture", asked);
      return client.open("GET /jobs/{id}/assets/{name}", { params: { id, name }, signal });
    };
  }
  if (status === "queued")
    throw new UsageError(`job ${id} is queued, so it has no page yet`, `flotilla logs ${id} -f`);
  const stored = `a ${status} job, whose picture is stored`;
  refuseFlags(flags, ["quality", "selector"], stored);
  if (pictureOf(flags).format !== "png")
    throw new UsageError(`--format is not for ${stored} as PNG`);
  return (_, signal) => client.open("GET /jobs/{id}/screenshot.png", { params: { id }, signal });
}

/** What opens a page has no use for what is open already. */
const PAGE_FLAGS = ["wait", "headful", ...SESSION_FLAGS.map(({ name }) => name)];

/** `example.com.png`, or the id of what is shown. */
const fileName = (word: string, ext: string): string => {
  const name = kindOfId(word) === null ? new URL(checkTarget(word)).hostname : word;
  return `${isSafeName(name) ? name : "page"}.${ext}`;
};

async function run(
  call: ClientCall,
  { shoot, ext }: { shoot: Shoot; ext: string },
  what: "screenshot" | "pdf",
): Promise<number> {
  const { terminal, clock, json, flags, signal } = call;
  const word = call.words[0] ?? "";
  const kind = kindOfId(word);
  if (kind === "run") throw new UsageError(`"${word}" is a run, which has no page`);
  if (kind === "job" && what === "pdf")
    throw new UsageError("a job has no page to print", "flotilla pdf URL");
  if (kind !== null) refuseFlags(flags, PAGE_FLAGS, `a ${kind}, whose page is there already`);
  const out = lastOf(flags, "out") ?? fileName(word, ext);
  const file = out === "-" ? null : resolve(out);
  if (file === null && (json || terminal.width !== null))
    throw new UsageError("-o - is for a pipe or a file: it prints the bytes alone");
  const saveBy = (by: Shoot) => async (sid: string) => {
    const open = (late: AbortSignal) => by(sid, AbortSignal.any([late, signal]));
    await (file === null ? printFile(clock, open, terminal) : saveFile(clock, open, file));
  };
  const progress = startProgress(terminal, clock);
  try {
    progress.step(what, kind === null ? `opening ${word}` : `of ${kind} ${word}`);
    if (kind === "job") await saveBy(await shootJob(call, word))(word);
    else if (kind === "session") await saveBy(shoot)(word);
    else await inSession(call, checkTarget(word), saveBy(shoot));
    progress.end();
    if (file === null) return EXIT.ok;
    const bytes = Bun.file(file).size;
    if (json) terminal.out(`${jsonText({ file, bytes })}\n`);
    else terminal.out(`${printable(file)} (${humanSize(bytes)})\n`);
    return EXIT.ok;
  } catch (err) {
    progress.end();
    if (signal.aborted) return EXIT.interrupted;
    return tellRefusal(terminal, err);
  } finally {
    progress.end();
  }
}

/** `flotilla screenshot URL|ID`: of a page that is opened for it, of an open session, or of a job. */
export const runScreenshotCommand = (call: ClientCall): Promise<number> =>
  run(call, screenshotOf(call), "screenshot");

/** `flotilla pdf URL|ID`: of a page that is opened for it, or of an open headless session. */
export const runPdfCommand = (call: ClientCall): Promise<number> => run(call, pdfOf(call), "pdf");
