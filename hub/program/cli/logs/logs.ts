import { type ClientCall, refuseFlags } from "../client-call.ts";
import { UsageError } from "../exit.ts";
import { LOG_FILTERS } from "../flags.ts";
import { tellRefusal } from "../hub-client.ts";
import { kindOfId } from "../id-kind.ts";
import { jobLogs } from "./job.ts";
import { runLogs } from "./run.ts";
import { serviceLogs } from "./service.ts";
import { sessionLogs } from "./session.ts";
import { taskLogs } from "./task.ts";

/** @throws UsageError for an id of no kind, and filters that are for the services alone */
async function read(call: ClientCall): Promise<number> {
  const [id, pk] = call.words;
  const follow = call.flags.follow !== undefined;
  if (id === undefined) return serviceLogs(call, follow);
  refuseFlags(
    call.flags,
    LOG_FILTERS.map(({ name }) => name),
    "the log of one thing",
  );
  if (pk !== undefined) return taskLogs(call, id, pk, follow);
  switch (kindOfId(id)) {
    case "job":
      return jobLogs(call, id, follow);
    case "session":
      return sessionLogs(call, id, follow);
    case "run":
      return runLogs(call, id);
    case null:
      throw new UsageError(
        `"${id}" is not the id of a job, a session or a run`,
        `flotilla logs ${id} KEY, for a task of the workload ${id}`,
      );
  }
}

/** `flotilla logs` (rules/clients#logs-by-command): of a job, a session, a run, a task or the services. */
export async function runLogsCommand(call: ClientCall): Promise<number> {
  try {
    return await read(call);
  } catch (err) {
    return tellRefusal(call.terminal, err);
  }
}
