import type { FlowEdge, FlowNode, FlowRates, RateMetric } from "#shared/protocol/schema/flow.ts";
import { pluginHref, workersHref, workloadHref } from "../../lib/links.ts";
import { countText } from "../../lib/units.ts";
import type { Look, Tone } from "../../parts/status/look.ts";
import { workloadLook } from "../../parts/status/workload.ts";
import { type Seen, stateOf } from "../workload/state.ts";

type Health = "good" | "warn" | "bad" | "off" | "plain";

/** What a node shows: colour by `health`, the same said by `state`, and numbers. */
export interface Shown {
  health: Health;
  state: string;
  lines: string[];
}

/** `exact` false: the rate is shared with other edges, so that this one has at most so much. */
export interface ShownEdge extends FlowEdge {
  exact: boolean;
}

/** Events of one minute by workload. */
export type Frame = Map<string, Partial<Record<RateMetric, number>>>;

export const KIND_NAMES: Record<FlowNode["kind"], string> = {
  source: "Source",
  workload: "Workload",
  worker: "Worker",
  plugin: "Plugin",
};

const nameOf = (id: string): string => id.slice(id.indexOf(":") + 1);

/** The page of a node. */
export function hrefOf({ id, kind }: Pick<FlowNode, "id" | "kind">): string {
  const name = nameOf(id);
  if (kind === "workload") return workloadHref(name);
  if (kind === "plugin") return pluginHref(name);
  if (kind === "worker") return workersHref("pipeline", { worker: name });
  return "/ui/pipelines";
}

const rateText = (per_min: number): string => `${countText(Math.round(per_min * 10) / 10)}/min`;

export const edgeText = ({ rate_per_min, exact, kind }: ShownEdge): string =>
  kind === "executor" ? "" : `${exact || rate_per_min === 0 ? "" : "≤ "}${rateText(rate_per_min)}`;

/** Twice the rate is one pixel more. */
export const edgeWidth = (per_min: number): number => 1 + Math.min(8, Math.log2(1 + per_min));

const num = (value: number | string | null | undefined): number =>
  typeof value === "number" ? value : 0;

const HEALTH: Record<Tone, Health> = {
  ok: "good",
  live: "plain",
  warn: "warn",
  bad: "bad",
  idle: "off",
};
const shownAs = ({ word, tone }: Look): Pick<Shown, "health" | "state"> => ({
  health: HEALTH[tone],
  state: word,
});

/** A node as it is now. */
export function shownNow({ id, kind, stats }: FlowNode, seen: Seen): Shown {
  if (kind === "workload") {
    const [submitted, succeeded, failed] = ["submitted", "succeeded", "failed"].map((name) =>
      num(stats[`${name}_per_min`]),
    ) as [number, number, number];
    const [pending, claimed] = [num(stats.pending), num(stats.claimed)];
    const broken = stats.executor === "broken";
    const enabled = stats.state !== "disabled";
    return {
      ...shownAs(stateOf({ slug: nameOf(id), enabled, broken, running: claimed }, seen)),
      lines: broken
        ? [String(stats.executor_error), `${pending} pending`]
        : [
            `${pending} pending, ${claimed} claimed, ${num(stats.failed)} failed`,
            `in ${rateText(submitted)}, done ${rateText(succeeded)}${failed ? `, failed ${rateText(failed)}` : ""}`,
          ],
    };
  }
  if (kind === "worker") {
    const draining = stats.state === "draining";
    const used = num(stats.in_flight);
    return {
      health: draining ? "warn" : "good",
      state: draining ? "draining" : used > 0 ? "busy" : "idle",
      lines: [
        `${used} of ${num(stats.slots)} slots in use`,
        `CPU ${typeof stats.cpu_percent === "number" ? `${Math.round(stats.cpu_percent)} %` : "not known"}`,
      ],
    };
  }
  if (kind === "plugin")
    return { health: "plain", state: "plugin", lines: [`of ${num(stats.workloads)} workloads`] };
  return { health: "plain", state: "source", lines: [rateText(num(stats.submitted_per_min))] };
}

/** By the runs that ended in that minute. */
function stateThen(minute: { claimed: number; succeeded: number; failed: number }): Look {
  const { claimed, succeeded, failed } = minute;
  const ended = succeeded + failed;
  return workloadLook({
    enabled: true,
    broken: false,
    running: claimed + ended,
    success_rate: ended === 0 ? null : succeeded / ended,
  });
}

/** A node as it was in a minute. Only of workloads the minutes are kept. */
export function shownThen({ id, kind }: FlowNode, frame: Frame): Shown {
  if (kind !== "workload") return { health: "plain", state: kind, lines: [] };
  const { submitted = 0, claimed = 0, succeeded = 0, failed = 0 } = frame.get(nameOf(id)) ?? {};
  const busy = submitted + claimed + succeeded + failed > 0;
  return {
    ...(busy
      ? shownAs(stateThen({ claimed, succeeded, failed }))
      : { health: "off" as const, state: "quiet" }),
    lines: [
      `${submitted} submitted, ${claimed} claimed`,
      `${succeeded} succeeded, ${failed} failed`,
    ],
  };
}

/** What happened in the minute that begins at `minute` (epoch ms). */
export function frameAt({ series }: FlowRates, minute: number): Frame {
  const frame: Frame = new Map();
  for (const { slug, metric, points } of series) {
    const first = points[0]?.[0] ?? minute;
    const n = points[Math.round((minute - first) / 60_000)]?.[1] ?? 0;
    frame.set(slug, { ...frame.get(slug), [metric]: n });
  }
  return frame;
}

/** Rates of a minute are kept by workload and not by edge: an edge that has its workload's to itself has it exactly. */
export function edgesThen(edges: readonly FlowEdge[], frame: Frame): ShownEdge[] {
  const of = (id: string, metric: RateMetric) => frame.get(nameOf(id))?.[metric] ?? 0;
  const alone = (test: (edge: FlowEdge) => boolean) => edges.filter(test).length === 1;
  const enters = ({ kind }: FlowEdge) => kind === "submit" || kind === "emit";
  return edges.map((edge) => {
    const { source, target, kind } = edge;
    if (kind === "executor") return { ...edge, exact: true };
    if (kind === "submit")
      return {
        ...edge,
        rate_per_min: of(target, "submitted"),
        exact: alone((e) => enters(e) && e.target === target),
      };
    if (kind === "emit")
      return {
        ...edge,
        rate_per_min: Math.min(of(source, "emitted"), of(target, "submitted")),
        exact: alone((e) => e.kind === "emit" && e.source === source),
      };
    return {
      ...edge,
      rate_per_min: of(source, "claimed"),
      exact: alone((e) => e.kind === "claim" && e.source === source),
    };
  });
}

/** The nodes with this word in their name or kind, and what they are joined to. */
export function filterNodes(
  nodes: readonly FlowNode[],
  edges: readonly FlowEdge[],
  q: string,
): FlowNode[] {
  const word = q.trim().toLowerCase();
  if (word === "") return [...nodes];
  const hits = new Set(
    nodes
      .filter(({ id, label }) => `${id} ${label}`.toLowerCase().includes(word))
      .map(({ id }) => id),
  );
  const near = new Set(hits);
  for (const { source, target } of edges) {
    if (hits.has(source)) near.add(target);
    if (hits.has(target)) near.add(source);
  }
  return nodes.filter(({ id }) => near.has(id));
}
