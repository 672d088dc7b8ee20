import { Anchor, Button } from "@mantine/core";
import { Link } from "wouter";
import { FlotillaError } from "#shared/client/errors.ts";
import { call } from "../../lib/http.ts";
import { workloadHref } from "../../lib/links.ts";
import { errorText, useChange, useGet } from "../../lib/query.ts";
import { durationText } from "../../lib/units.ts";
import { Command } from "../../parts/copy.tsx";

const SLUG = "first-tasks";
const TASKS = 10;
/** Counts the bytes of the task that it reads; long enough to be seen. */
const ARGV = ["sh", "-c", "sleep 0.3; wc -c"];
const EVERY_MS = 500;

/** There it may be from an earlier try. */
async function makeWorkload(): Promise<void> {
  try {
    await call("POST /api/v1/workloads", {
      json: {
        slug: SLUG,
        name: "First tasks",
        executor_type: "command",
        executor_config: { argv: ARGV },
      },
    });
  } catch (err) {
    if (!(err instanceof FlotillaError && err.status === 409)) throw err;
  }
}

/** Keys of their own each time, because a key that was used is a duplicate. */
const keysOf = (round: string): string[] =>
  Array.from({ length: TASKS }, (_, i) => `${round}-${i + 1}`);

async function runTen(): Promise<string> {
  await makeWorkload();
  const round = Date.now().toString(36);
  const items = keysOf(round).map((pk, i) => ({ pk, extra: { number: i + 1 } }));
  await call("POST /api/v1/workloads/{slug}/tasks/batch", {
    params: { slug: SLUG },
    json: { items },
  });
  return round;
}

interface TasksStepProps {
  /** Names the tasks that were submitted here; "" before. */
  round: string;
  onRound: (round: string) => void;
}

type State = "ready" | "success" | "failed";

/** What became of each task, by its newest run. */
function useTasks(round: string) {
  const runs = useGet(
    "/api/v1/workloads/{slug}/runs",
    { params: { slug: SLUG }, query: { limit: String(5 * TASKS), brief: "true" } },
    {
      enabled: round !== "",
      refetchInterval: ({ state }) =>
        (state.data?.runs ?? []).filter(({ pk }) => pk.startsWith(`${round}-`)).length >= TASKS
          ? false
          : EVERY_MS,
    },
  );
  const tasks = keysOf(round).map((pk) => {
    const run = runs.data?.runs.find((one) => one.pk === pk);
    const state: State = run === undefined ? "ready" : run.success ? "success" : "failed";
    return { pk, state, took: run?.duration_ms ?? null };
  });
  return { tasks, done: tasks.filter(({ state }) => state === "success").length };
}

const WORDS: Record<State, string> = { ready: "waits", success: "succeeded", failed: "failed" };

function Tasks({ round }: { round: string }) {
  const { tasks, done } = useTasks(round);
  const workers = useGet("/api/v1/workers");
  const nobody = workers.data?.workers.every(({ state }) => state === "offline");
  return (
    <div className="first-tasks">
      <p className="first-status" role="status">
        <b>
          {done} of {TASKS} succeeded
        </b>
        <Anchor component={Link} href={workloadHref(SLUG)} size="sm">
          Open the workload
        </Anchor>
      </p>
      <ol>
        {tasks.map(({ pk, state, took }, i) => (
          <li key={pk} data-state={state}>
            Task {i + 1}{" "}
            <span>{took === null ? WORDS[state] : `${WORDS[state]} in ${durationText(took)}`}</span>
          </li>
        ))}
      </ol>
      {nobody && (
        <>
          <p className="first-error">No pipeline worker is on, so the tasks wait. Start one:</p>
          <Command text={`flotilla worker --control-url=${location.origin}`} />
        </>
      )}
    </div>
  );
}

/** Makes a small workload, gives it ten tasks and shows them done. */
export function TasksStep({ round, onRound }: TasksStepProps) {
  const run = useChange(runTen, { failed: "The tasks were not run", onDone: onRound, quiet: true });
  return (
    <>
      <Button onClick={() => run.mutate(undefined)} loading={run.isPending}>
        Run ten tasks
      </Button>
      {run.error && <p className="first-error">{errorText(run.error)}</p>}
      {round !== "" && <Tasks round={round} />}
    </>
  );
}
