import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { errorMessage } from "#shared/kit/errors.ts";
import type { Log } from "#shared/kit/log.ts";
import { replaceFile } from "#shared/kit/replace-file.ts";
import { type ControlClient, type ControlClientDeps, createControlClient } from "./client.ts";
import { isRefusal } from "./control-call.ts";
import type { Outbox } from "./outbox.ts";

/** Reports belong to the incarnation that claimed the tasks and to the control plane it claimed them from. */
const Spooled = z.object({
  control_url: z.string(),
  worker_id: z.string(),
  incarnation: z.string(),
  calls: z.array(z.record(z.string(), z.unknown())),
});

export interface SpoolDeps extends ControlClientDeps {
  dir: string;
  log: Log;
}

const fileOf = (dir: string) => join(dir, "unsent.json");

/** Saves what a stopping worker could not report, for its successor in this directory. */
export async function spoolReports(
  { dir, control_url, worker_id, incarnation, log }: SpoolDeps,
  outbox: Outbox,
): Promise<void> {
  const n = outbox.size;
  if (n === 0) return;
  const calls = [];
  while (outbox.size > 0) calls.push(outbox.take().body);
  const text = JSON.stringify({ control_url, worker_id, incarnation, calls });
  await replaceFile(fileOf(dir), text);
  log.warn({ n }, "kept reports for the next start: the control plane does not answer");
}

/**
 * Reports what a predecessor left behind, in its name. Call it before this process registers, because the name belongs
 * to this process from then on. What is refused now belongs to another worker. @throws when the control plane does not
 * answer.
 */
export async function tellSpooled(
  deps: SpoolDeps,
  connect: (deps: ControlClientDeps) => ControlClient = createControlClient,
): Promise<void> {
  const { dir, log } = deps;
  const text = await readFile(fileOf(dir), "utf8").catch(() => null);
  if (text === null) return;
  const spooled = parsed(text);
  const ours =
    spooled?.control_url === deps.control_url && spooled.worker_id === deps.worker_id && spooled;
  if (!ours) log.warn({}, "dropped reports of another worker or control plane");
  else {
    const client = connect({ ...deps, incarnation: ours.incarnation });
    for (const call of ours.calls)
      await client.exchange({ ...call, want: { slots: 0 } }, 0).then(
        ({ results }) => log.info({ n: results.length }, "delivered reports of the previous run"),
        (err) => {
          if (!isRefusal(err)) throw err;
          log.warn({ err: errorMessage(err) }, "reports of the previous run came too late");
        },
      );
  }
  await rm(fileOf(dir), { force: true });
}

function parsed(text: string): z.infer<typeof Spooled> | null {
  try {
    return Spooled.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
