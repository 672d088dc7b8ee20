import { type ClientCall, jsonText, refuseFlags } from "./client-call.ts";
import { EXIT, UsageError } from "./exit.ts";
import { runFailuresCommand } from "./failures.ts";
import { FAILURE_FLAGS } from "./flags.ts";
import { eachById, tell, tellRefusal } from "./hub-client.ts";
import { kindOfId } from "./id-kind.ts";
import { printable } from "./print.ts";

/** `flotilla retry`: one job, tasks by their keys, the task of a run, or what a filter finds (rules/clients#retry-by-command). */

const FILTERS = FAILURE_FLAGS.map(({ name }) => name).filter((name) => name !== "json");

/** The job that runs it again: this call's, or that of whoever was faster. */
async function retryJob({ client, terminal, json }: ClientCall, job_id: string): Promise<number> {
  const { status, retried_as } = await client.call("GET /jobs/{id}", { params: { id: job_id } });
  if (status === "queued" || status === "running")
    throw new UsageError(
      `job ${job_id} has not ended: it is ${status}`,
      `flotilla logs ${job_id} -f`,
    );
  const made =
    retried_as === null
      ? await client.call("POST /jobs/retry", { json: { job_id, status } })
      : null;
  const refusal = made?.refusals[0];
  if (refusal) {
    terminal.err(`flotilla: job ${job_id} is not retried: ${printable(refusal.reason)}\n`);
    return EXIT.failed;
  }
  const asked = client.call("GET /jobs/{id}", { params: { id: job_id } });
  return tell(terminal, asked, ({ retried_as: next }) => {
    if (json) return jsonText({ job_id, retried_as: next });
    return made?.changed === 1
      ? `job ${job_id} runs again as ${next}`
      : `job ${job_id} was retried before, as ${next}`;
  });
}

async function retryTasks(call: ClientCall, slug: string, pks: readonly string[]): Promise<number> {
  const { done, code } = await eachById(
    call,
    pks,
    (pk) =>
      call.client.call("POST /api/v1/workloads/{slug}/queue/{pk}/reset", { params: { slug, pk } }),
    (pk) => `task ${pk} is ready again, with all its attempts`,
  );
  if (call.json) call.terminal.out(`${jsonText({ workload: slug, retried: done })}\n`);
  return code;
}

/** @throws UsageError for words that name nothing to retry, or words and filters together */
export async function runRetryCommand(call: ClientCall): Promise<number> {
  const [id, ...pks] = call.words;
  if (id === undefined) return runFailuresCommand(call, "retry", call.flags);
  refuseFlags(call.flags, FILTERS, "a retry by id");
  try {
    if (pks.length > 0) return await retryTasks(call, id, pks);
    const kind = kindOfId(id);
    if (kind === "job") return await retryJob(call, id);
    if (kind !== "run")
      throw new UsageError(
        `"${id}" is neither a job nor a run: name a workload with keys of its tasks`,
        `flotilla retry ${id} KEY…`,
      );
    const params = { run_id: Number(id) };
    const { workload, pk } = await call.client.call("GET /api/v1/runs/{run_id}", { params });
    return await retryTasks(call, workload, [pk]);
  } catch (err) {
    return tellRefusal(call.terminal, err);
  }
}
