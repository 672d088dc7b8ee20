import { FlotillaError, type QueueCounts } from "#shared/client/index.ts";
import { errorMessage } from "#shared/kit/errors.ts";
import { issueText } from "#shared/kit/issue-text.ts";
import { MAX_BATCH_ITEMS } from "#shared/protocol/limits.ts";
import { EXIT, UsageError } from "./exit.ts";
import { ownTasks } from "./own-tasks.ts";
import { type Progress, startProgress } from "./progress.ts";
import { inBatches, type PlacedTask, readTaskLines, tasksOfWords } from "./task-lines.ts";
import { countsText, type WatchDeps, watchQueue } from "./watch-queue.ts";

export interface SubmitRequest {
  slug: string;
  /** Keys on the command line; none when `file` is given. */
  pks: string[];
  /** Path, or `-` for standard input. */
  file: string | null;
  /** Of every task that names none of its own with the same key. */
  labels: Record<string, string>;
  wait: boolean;
  json: boolean;
}

export interface SubmitDeps extends WatchDeps {
  /** Opens a file, or standard input for `-`. @throws UsageError when it cannot be read. */
  openInput(file: string): Promise<ReadableStream<Uint8Array>>;
}

/** A batch is sent when it reaches this size; no more than one is in memory. */
const BATCH = { items: MAX_BATCH_ITEMS, bytes: 8 * 1024 * 1024 };
const FIRST_CALL_MS = 10_000;
/** A queue that has not moved for this long may have no worker. */
const HINT_MS = 5_000;

interface Sent {
  submitted: number;
  duplicates: number;
  /** Keys of the tasks, including those already in the queue; kept only for `wait`. */
  pks: Set<string> | null;
  /** Where the last accepted task was written. */
  last: string | null;
}

/** What is wrong with a task of this batch, with its line. */
function blameLine(err: unknown, batch: PlacedTask[]): unknown {
  if (!(err instanceof FlotillaError) || err.status !== 422 || !Array.isArray(err.detail))
    return err;
  const lines = err.detail.map(({ loc, msg }: { loc: (string | number)[]; msg: string }) => {
    const [, , index, ...field] = loc;
    const place = typeof index === "number" ? batch[index]?.place : undefined;
    return place === undefined ? issueText(loc, msg) : `${place}: ${issueText(field, msg)}`;
  });
  return new UsageError(lines.join("\n"));
}

async function sendAll(
  deps: SubmitDeps,
  { slug, labels }: Pick<SubmitRequest, "slug" | "labels">,
  tasks: AsyncIterable<PlacedTask>,
  progress: Progress,
  sent: Sent,
): Promise<void> {
  const labelled = Object.keys(labels).length > 0;
  const { workloads, signal } = deps;
  for await (const batch of inBatches(tasks, BATCH)) {
    if (signal.aborted) return;
    const items = batch.map(({ task }) =>
      labelled ? { ...task, labels: { ...labels, ...task.labels } } : task,
    );
    const answer = await workloads.submit(slug, items, { signal }).catch((err) => {
      throw blameLine(err, batch);
    });
    sent.submitted += answer.submitted;
    sent.duplicates += answer.duplicates;
    sent.last = batch.at(-1)?.place ?? null;
    for (const { pk } of items) sent.pks?.add(pk);
    progress.step("submit", submittedText(sent));
  }
}

const submittedText = ({ submitted, duplicates }: Sent): string => {
  const tasks = `${submitted.toLocaleString("en-US")} ${submitted === 1 ? "task" : "tasks"} submitted`;
  return duplicates === 0
    ? tasks
    : `${tasks}, ${duplicates.toLocaleString("en-US")} already in the queue`;
};

/** What was submitted before an error. A batch whose answer never came may or may not be in the queue. */
function takenText(sent: Sent, err: unknown): string {
  const taken =
    sent.last === null
      ? "nothing was submitted"
      : `${submittedText(sent)}, the last is ${sent.last}`;
  const unknown = err instanceof FlotillaError && err.status === 0;
  return unknown ? `${taken}; the batch after that may or may not be in the queue` : taken;
}

/** Says why nothing moves: a workload that is off, or no worker at all. */
async function explainIdle({ workloads }: SubmitDeps, slug: string): Promise<string> {
  const { enabled } = await workloads.get(slug);
  return enabled
    ? "nothing has moved: is there a worker that may run it? (GET /api/v1/workers)"
    : `nothing will move: ${slug} is switched off (enabled: false)`;
}

async function waitForEnd(
  deps: SubmitDeps,
  slug: string,
  pks: ReadonlySet<string>,
  progress: Progress,
) {
  const started = deps.clock.now();
  let first: string | null = null;
  let hinted = false;
  const isOver = (counts: QueueCounts) => {
    const text = countsText(counts);
    first ??= text;
    const idle = counts.claimed === 0 && text === first;
    if (idle && !hinted && deps.clock.now() - started > HINT_MS) {
      void explainIdle(deps, slug).then(progress.note, () => {});
      hinted = true;
    }
    return counts.pending + counts.claimed === 0;
  };
  const own = { count: ownTasks(deps, slug, pks), most: pks.size };
  return watchQueue(deps, slug, progress, isOver, () => {}, own);
}

function sourceOf(request: SubmitRequest, stream: ReadableStream<Uint8Array> | null) {
  if (stream === null) return tasksOfWords(request.pks);
  return readTaskLines(stream, request.file === "-" ? "stdin" : (request.file ?? ""));
}

/**
 * `flotilla submit`: sends tasks in batches as they are read, so that a file of any size needs the memory of one batch;
 * with `wait` also that of the keys, because it waits for these tasks and no others of the workload.
 * @returns the exit code: 0 submitted (with `wait`: and none of them failed), 1 some failed, 130 after Ctrl-C.
 * @throws UsageError naming the line and field of a bad task, and how many tasks were submitted before it.
 */
export async function runSubmitCommand(deps: SubmitDeps, request: SubmitRequest): Promise<number> {
  const { terminal, clock, signal } = deps;
  const { slug, file, json } = request;
  const stream = file === null ? null : await deps.openInput(file);
  const progress = startProgress(terminal, clock);
  const pks = request.wait ? new Set<string>() : null;
  const sent: Sent = { submitted: 0, duplicates: 0, pks, last: null };
  const say = (more: Record<string, unknown>, text: string) => {
    progress.end();
    const { submitted, duplicates } = sent;
    const record = { workload: slug, submitted, duplicates, ...more };
    terminal.out(`${json ? JSON.stringify(record) : text}\n`);
  };
  try {
    // Before anything is read, check that the hub answers and that the workload exists.
    await deps.workloads.get(slug, { timeout_ms: FIRST_CALL_MS });
    await sendAll(deps, request, sourceOf(request, stream), progress, sent).catch((err) => {
      if (signal.aborted) return;
      const told = takenText(sent, err);
      if (json) say({ error: errorMessage(err) }, "");
      progress.end();
      if (err instanceof UsageError) throw new UsageError(`${err.message}\n${told}`);
      terminal.err(`flotilla: ${told}\n`);
      throw err;
    });
    if (signal.aborted || pks === null) {
      say({}, submittedText(sent));
      return signal.aborted ? EXIT.interrupted : EXIT.ok;
    }
    const queue = await waitForEnd(deps, slug, pks, progress);
    say({ queue }, `${submittedText(sent)}${queue ? `; ${countsText(queue)}` : ""}`);
    if (queue === null) return EXIT.interrupted;
    if (queue.failed > 0 && !json)
      terminal.err(`flotilla: to see why tasks failed: flotilla runs ${slug} --failed\n`);
    return queue.failed > 0 ? EXIT.failed : EXIT.ok;
  } finally {
    progress.end();
  }
}
