import type { Clock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { startLoop } from "#shared/kit/loop.ts";
import { fitText, printable, type Terminal } from "./print.ts";

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/** Often enough to look alive. */
const FRAME_MS = 120;

export interface Progress {
  /** A line that stays. */
  note(text: string): void;
  /** One entry of the job's log: the live line, or a line of its own where nothing can be rewritten. */
  step(stage: string, message: string): void;
  /** Ends the live line. Idempotent. */
  end(): void;
}

/** Shows what a job is doing: one rewritten line on a terminal, plain lines elsewhere. */
export function startProgress(terminal: Terminal, clock: Clock): Progress {
  const started = clock.now();
  const elapsed = () => `${((clock.now() - started) / 1000).toFixed(1).padStart(5)} s`;
  let frame = 0;
  let current: string | null = null;
  const draw = () => {
    if (current === null) return;
    frame += 1;
    const line = `${SPINNER[frame % SPINNER.length]} ${elapsed()}  ${printable(current)}`;
    terminal.err(`\r\u001b[K${fitText(line, terminal.liveWidth - 1)}`);
  };
  const loop = terminal.live
    ? startLoop({
        name: "progress",
        everyMs: FRAME_MS,
        clock,
        log: silentLog,
        pass: async () => draw(),
      })
    : null;
  const clear = () => {
    if (current !== null) terminal.err("\r\u001b[K");
    current = null;
  };
  return {
    note: (text) => {
      clear();
      terminal.err(`${printable(text)}\n`);
    },
    step: (stage, message) => {
      const text = `${stage.padEnd(8)} ${message}`;
      if (!terminal.live) {
        terminal.err(`${elapsed()}  ${printable(text)}\n`);
        return;
      }
      current = text;
      draw();
    },
    end: () => {
      clear();
      void loop?.stop();
    },
  };
}
