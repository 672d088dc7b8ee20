import { resolve } from "node:path";
import type { RecordingExport, VideoFormat } from "#shared/client/client-types.ts";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Http } from "#shared/client/http.ts";
import type { Clock } from "#shared/kit/clock.ts";
import { humanSize } from "#shared/kit/words.ts";
import { isSafeName } from "#shared/protocol/names.ts";
import type { FlagValues } from "./args.ts";
import { EXIT, UsageError } from "./exit.ts";
import { tellRefusal } from "./hub-client.ts";
import { printable, type Terminal } from "./print.ts";
import { type Progress, startProgress } from "./progress.ts";
import { saveFile } from "./save-file.ts";

export interface VideoDeps {
  client: Http;
  terminal: Terminal;
  clock: Clock;
  signal: AbortSignal;
}

interface VideoAsked {
  format: VideoFormat;
  speed: number;
  out: string | null;
}

const LOOK_MS = 1_000;

/** @throws UsageError */
export function videoAsked(flags: FlagValues): VideoAsked {
  const format = flags.format?.at(-1) ?? "mp4";
  if (format !== "mp4" && format !== "webm") throw new UsageError("--format must be mp4 or webm");
  const speed = Number(flags.speed?.at(-1) ?? 1);
  if (!Number.isInteger(speed)) throw new UsageError("--speed must be a whole number");
  return { format, speed, out: flags.out?.at(-1) ?? null };
}

/** The calls about the recording of one run. */
const callsOf = ({ client }: VideoDeps, kind: "job" | "session", id: string) =>
  kind === "job"
    ? {
        ask: (json: Pick<VideoAsked, "format" | "speed">) =>
          client.call("POST /jobs/{id}/recording/exports", { params: { id }, json }),
        list: () => client.call("GET /jobs/{id}/recording/exports", { params: { id } }),
        open: (format: VideoFormat, signal: AbortSignal) =>
          client.open(`GET /jobs/{id}/recording/video.${format}`, { params: { id }, signal }),
      }
    : {
        ask: (json: Pick<VideoAsked, "format" | "speed">) =>
          client.call("POST /sessions/{sid}/recording/exports", { params: { sid: id }, json }),
        list: () => client.call("GET /sessions/{sid}/recording/exports", { params: { sid: id } }),
        open: (format: VideoFormat, signal: AbortSignal) =>
          client.open(`GET /sessions/{sid}/recording/video.${format}`, {
            params: { sid: id },
            signal,
          }),
      };
type Calls = ReturnType<typeof callsOf>;

/** `flotilla video ID` (rules/recordings#export-as-a-video): asks for it, waits until it is made, and saves it. */
export async function runVideoCommand(
  deps: VideoDeps,
  id: string,
  asked: VideoAsked,
): Promise<number> {
  const { terminal, clock } = deps;
  const progress = startProgress(terminal, clock);
  try {
    const { calls, made } = await begun(deps, id, asked);
    await waited(deps, calls, made, progress);
    const name = `${isSafeName(id) ? id : "recording"}.${asked.format}`;
    const file = resolve(asked.out ?? name);
    await saveFile(clock, (signal) => calls.open(asked.format, signal), file);
    progress.end();
    terminal.out(`${printable(file)} (${humanSize(Bun.file(file).size)})\n`);
    return EXIT.ok;
  } catch (err) {
    progress.end();
    return tellRefusal(terminal, err);
  } finally {
    progress.end();
  }
}

/** An id is a job's, or else a session's. */
async function begun(deps: VideoDeps, id: string, { format, speed }: VideoAsked) {
  const ask = async (kind: "job" | "session") => {
    const calls = callsOf(deps, kind, id);
    return { calls, made: await calls.ask({ format, speed }) };
  };
  return ask("job").catch((err) => {
    if (err instanceof FlotillaError && err.status === 404) return ask("session");
    throw err;
  });
}

async function waited(
  { clock, signal }: VideoDeps,
  calls: Calls,
  asked: RecordingExport,
  progress: Progress,
): Promise<void> {
  for (let made: RecordingExport | undefined = asked; ; ) {
    if (!made || made.id !== asked.id) throw new Error("the video was replaced by another one");
    if (made.status === "done") return;
    if (made.status === "failed") throw new Error(`the video was not made: ${made.error}`);
    progress.step(made.status, `${Math.round(made.progress * 100)} %`);
    await clock.sleep(LOOK_MS, signal);
    if (signal.aborted) throw new Error("stopped; the hub goes on making the video");
    const { items }: { items: RecordingExport[] } = await calls.list();
    made = items.find(({ format }) => format === asked.format);
  }
}
