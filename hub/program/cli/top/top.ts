import { FlotillaError } from "#shared/client/errors.ts";
import { isoTime } from "#shared/kit/clock.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { type ClientCall, jsonText, numberOf } from "../client-call.ts";
import { EXIT } from "../exit.ts";
import { pollUntil } from "../poll.ts";
import { fitText, printable, type Terminal } from "../print.ts";
import { drawNow } from "./draw.ts";
import { type Now, readNow } from "./read.ts";

const SCREEN = { begin: "\u001b[?1049h\u001b[?25l", end: "\u001b[?25h\u001b[?1049l" };
const HOME = "\u001b[H";
const REST_OF_LINE = "\u001b[K";
const REST_OF_SCREEN = "\u001b[J";
const CTRL_C = "\u0003";
/** No colour may run on where a line is cut. */
const PLAIN = "\u001b[0m";

/** Without the codes of colours, which take no room: a line that fits keeps them. */
function fitted(line: string, width: number): string {
  return Bun.stringWidth(line) <= width ? line : `${fitText(Bun.stripANSI(line), width)}${PLAIN}`;
}

/** One frame over the one before it, without flicker: each line is overwritten, and what is left is cleared. */
export function frameText(lines: readonly string[], width: number, height: number): string {
  const all = lines.flatMap((line) => line.split("\n"));
  const some =
    all.length <= height
      ? all
      : [...all.slice(0, height - 1), `… ${all.length - height + 1} more lines`];
  const shown = some.map((line) => `${fitted(line, width)}${REST_OF_LINE}`);
  return `${HOME}${shown.join("\r\n")}${REST_OF_SCREEN}`;
}

const sizeOf = ({ width, height }: Terminal): string => `${width} ${height}`;

/** Keys end it as well as signals, because a terminal that tells keys sends none. */
function untilKey(terminal: Terminal, signal: AbortSignal) {
  const over = new AbortController();
  let quit = false;
  const stop = () => over.abort();
  signal.addEventListener("abort", stop, { once: true });
  // Several that were pressed at once come together.
  const end = terminal.onKey?.((keys) => {
    if (/q/i.test(keys)) quit = true;
    if (quit || keys.includes(CTRL_C)) stop();
  });
  return {
    signal: over.signal,
    wasQuit: () => quit,
    end: () => {
      end?.();
      signal.removeEventListener("abort", stop);
    },
  };
}

/** The whole screen anew, until q or Ctrl-C. A hub that does not answer is shown as it was, with what is wrong. */
async function live(call: ClientCall, every_ms: number, first: Now): Promise<number> {
  const { client, terminal, clock } = call;
  const keys = untilKey(terminal, call.signal);
  let now = first;
  let note = "";
  let drawn_at = clock.now();
  let drawn_size = sizeOf(terminal);
  const draw = () => {
    const lines = drawNow(terminal, client.base_url, now);
    const shown =
      note === "" ? [...lines, "", "q quits"] : [lines[0] ?? "", note, ...lines.slice(1)];
    terminal.out(frameText(shown, terminal.width ?? 80, terminal.height ?? 24));
  };
  terminal.out(SCREEN.begin);
  try {
    draw();
    await pollUntil({ clock, signal: keys.signal }, async () => {
      const size = sizeOf(terminal);
      if (size !== drawn_size) draw();
      drawn_size = size;
      if (clock.now() - drawn_at < every_ms) return false;
      drawn_at = clock.now();
      try {
        now = await readNow(client, isoTime(clock.now()), keys.signal);
        note = "";
      } catch (err) {
        // It may be left open for days, so a hub that is away or refuses a call is no end.
        if (!(err instanceof FlotillaError)) throw err;
        note = printable(`!  nothing new since ${now.at}: ${errorMessage(err)}`);
      }
      draw();
      return false;
    });
    return keys.wasQuit() ? EXIT.ok : EXIT.interrupted;
  } finally {
    keys.end();
    terminal.out(SCREEN.end);
  }
}

/** `flotilla top` (rules/clients#top): live on a terminal, elsewhere once. */
export async function runTopCommand(call: ClientCall): Promise<number> {
  const { client, terminal, clock, json, flags } = call;
  const every_s = numberOf(flags, "every", { min: 1, max: 3_600, usual: 2 });
  const now = await readNow(client, isoTime(clock.now()), call.signal);
  if (json) terminal.out(`${jsonText(now)}\n`);
  else if (terminal.width === null || flags.once)
    terminal.out(`${drawNow(terminal, client.base_url, now).join("\n")}\n`);
  else return live(call, every_s * 1_000, now);
  return EXIT.ok;
}
