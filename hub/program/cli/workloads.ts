import type { Workload } from "#shared/client/client-types.ts";
import type { Http } from "#shared/client/http.ts";
import { everyItem } from "#shared/client/http.ts";
import type { DashboardOverview } from "#shared/protocol/schema/flow.ts";
import {
  actionOf,
  type ClientCall,
  jsonText,
  lastOf,
  moment,
  needed,
  refuseFlags,
} from "./client-call.ts";
import { UsageError } from "./exit.ts";
import { fieldLines } from "./fields.ts";
import { tell } from "./hub-client.ts";
import { type Column, tableFor } from "./print.ts";
import { readBody } from "./read-body.ts";

/** `flotilla workloads` (rules/clients#workloads-and-tasks-by-command). */

type Depth = DashboardOverview["queue_depths"][number];

const COLUMNS: readonly Column[] = [
  { title: "workload" },
  { title: "state", state: true },
  { title: "executor" },
  { title: "pending", right: true },
  { title: "claimed", right: true },
  { title: "failed", right: true },
  { title: "done/min", right: true },
  { title: "next run" },
  { title: "name", shrink: 12 },
];

const stateOf = ({ enabled }: Workload): string => (enabled ? "on" : "paused");

const cells = (one: Workload, depth: Depth | undefined): string[] => [
  one.slug,
  stateOf(one),
  one.executor_type,
  String(depth?.pending ?? 0),
  String(depth?.claimed ?? 0),
  String(depth?.failed ?? 0),
  String(Math.round((depth?.done_per_min ?? 0) * 10) / 10),
  moment(one.next_times[0]),
  one.name === one.slug ? "" : one.name,
];

const depthsOf = async (client: Http): Promise<Map<string, Depth>> => {
  const { queue_depths } = await client.call("GET /api/v1/dashboard/overview");
  return new Map(queue_depths.map((depth) => [depth.workload, depth]));
};

async function list({ client, terminal, json }: ClientCall): Promise<number> {
  const asked = Promise.all([
    everyItem(client, "GET /api/v1/workloads", "workloads"),
    depthsOf(client),
  ]);
  return tell(terminal, asked, ([workloads, depths]) => {
    if (json) return jsonText({ workloads });
    if (workloads.length === 0) return "no workloads";
    return tableFor(
      terminal,
      COLUMNS,
      workloads.map((one) => cells(one, depths.get(one.slug))),
    );
  });
}

/** What runs its tasks, in a few words. */
const executorText = ({ executor_type, executor_config: config }: Workload): string =>
  [
    executor_type,
    config.plugin && `plugin ${config.plugin}`,
    config.argv?.join(" "),
    config.module,
    config.code_version && `code, version ${config.code_version}`,
  ]
    .filter(Boolean)
    .join(", ");

function describe(one: Workload): string {
  return fieldLines([
    ["workload", one.slug],
    ["name", one.name === one.slug ? null : one.name],
    ["state", stateOf(one)],
    ["executor", executorText(one)],
    ["loads", one.executor.state],
    ["description", one.description],
    ["priority", String(one.priority)],
    ["batch size", String(one.batch_size)],
    ["lease", `${one.lease_secs} s`],
    ["timeout", one.timeout_s === null ? null : `${one.timeout_s} s`],
    ["attempts", String(one.max_attempts)],
    ["at a time", one.max_in_flight === null ? null : String(one.max_in_flight)],
    ["rate", one.rate_limit && `${one.rate_limit.count} every ${one.rate_limit.per_s} s`],
    ["schedule", one.schedule && `${one.schedule} (${one.schedule_tz})`],
    ["next run", moment(one.next_times[0])],
    ["emits to", one.emits.join(" ")],
    ["changed", moment(one.updated_at)],
  ]);
}

const shown =
  ({ json }: ClientCall, text: (one: Workload) => string) =>
  (one: Workload): string =>
    json ? jsonText(one) : text(one);

async function create(call: ClientCall): Promise<number> {
  const body = await readBody(
    needed(lastOf(call.flags, "file"), "--file FILE", "workloads create"),
  );
  const asked = call.client.call("POST /api/v1/workloads", { json: body as never });
  const text = shown(call, ({ slug }) => `workload ${slug} created`);
  return tell(call.terminal, asked, text);
}

async function update(call: ClientCall, slug: string): Promise<number> {
  const body = await readBody(
    needed(lastOf(call.flags, "file"), "--file FILE", "workloads update"),
  );
  const asked = call.client.call("PUT /api/v1/workloads/{slug}", {
    params: { slug },
    json: body as never,
  });
  const text = shown(call, () => `workload ${slug} replaced`);
  return tell(call.terminal, asked, text);
}

function setEnabled(call: ClientCall, slug: string, enabled: boolean): Promise<number> {
  const asked = call.client.call("PATCH /api/v1/workloads/{slug}/enabled", {
    params: { slug },
    json: { enabled },
  });
  const done = enabled
    ? `workload ${slug} resumed`
    : `workload ${slug} paused: what runs goes on, and nothing new begins`;
  const text = shown(call, () => done);
  return tell(call.terminal, asked, text);
}

/** With its queue, so it must be meant. */
async function remove(call: ClientCall, slug: string): Promise<number> {
  const { client, terminal, flags } = call;
  if (!flags.yes)
    throw new UsageError(
      `this deletes workload ${slug} with its queue: add --yes`,
      `flotilla workloads delete ${slug} --yes`,
    );
  const query = { force: flags.force !== undefined };
  const asked = client.call("DELETE /api/v1/workloads/{slug}", { params: { slug }, query });
  return tell(terminal, asked, () =>
    call.json ? jsonText({ deleted: slug }) : `workload ${slug} deleted; its runs stay`,
  );
}

const ACTIONS = ["list", "show", "create", "update", "pause", "resume", "delete"] as const;

/** @throws UsageError for words and flags that do not go together */
export async function runWorkloadsCommand(call: ClientCall): Promise<number> {
  const [word, given, ...more] = call.words;
  const action = actionOf("workloads", word, ACTIONS);
  if (action !== "delete") refuseFlags(call.flags, ["yes", "force"], `workloads ${action}`);
  if (action !== "create" && action !== "update")
    refuseFlags(call.flags, ["file"], `workloads ${action}`);
  const stray = action === "list" || action === "create" ? given : more[0];
  if (stray !== undefined)
    throw new UsageError(`unexpected word "${stray}" after workloads ${action}`);
  if (action === "list") return list(call);
  if (action === "create") return create(call);
  const slug = needed(given, "SLUG", `workloads ${action}`);
  switch (action) {
    case "show": {
      const params = { slug };
      const asked = call.client.call("GET /api/v1/workloads/{slug}", { params });
      return tell(call.terminal, asked, shown(call, describe));
    }
    case "update":
      return update(call, slug);
    case "delete":
      return remove(call, slug);
    default:
      return setEnabled(call, slug, action === "resume");
  }
}
