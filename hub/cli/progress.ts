import type { Clock } from "#shared/clock.ts";
import { fitText, printable, type Terminal } from "./print.ts";

const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

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
  let shown = false;
  const draw = (text: string) => {
    frame += 1;
    const line = `${SPINNER[frame % SPINNER.length]} ${elapsed()}  ${printable(text)}`;
    terminal.err(`\r\u001b[K${fitText(line, terminal.liveWidth - 1)}`);
    shown = true;
  };
  const end = () => {
    if (shown) terminal.err("\r\u001b[K");
    shown = false;
  };
  return {
    note: (text) => {
      end();
      terminal.err(`${printable(text)}\n`);
    },
    step: (stage, message) => {
      const text = `${stage.padEnd(8)} ${message}`;
      if (terminal.live) draw(text);
      else terminal.err(`${elapsed()}  ${printable(text)}\n`);
    },
    end,
  };
}
