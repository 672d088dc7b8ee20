import type { EgressReport } from "#shared/protocol/egress-cover.ts";
import type { Registration, WorkerHeartbeat } from "#shared/protocol/link/messages.ts";
import { BROWSER_OPTION_NAMES } from "#shared/protocol/schema/browser-options.ts";
import type { UpdateReport } from "#shared/protocol/schema/updates.ts";
import type { Lane } from "#shared/protocol/schema/worker.ts";
import type { LanePool } from "#worker/browser/lanes/pool.ts";
import type { HostLoadSampler } from "./host-load.ts";

export interface SelfReportDeps {
  worker_id: string;
  instance_id: string;
  version: string;
  secret: string | null;
  address: string;
  hostname: string;
  host_id: string | null;
  lane_novnc_urls: string[];
  /** Where its lanes may connect to. */
  egress: EgressReport;
  max_concurrent: number;
  pool: Pick<LanePool, "lanes" | "product" | "capture">;
  in_flight(): number;
  load: HostLoadSampler;
  /** Names of the profiles in the cache (rules/workers#heartbeats). */
  profiles(): string[];
  update(): UpdateReport | null;
  /** Looked for at each registration, so that it may be installed later; so is the next. */
  hasChromedriver(): boolean;
  /** Whether a browser can be given authorities. */
  hasCertutil(): boolean;
}

/** What a worker tells the hub about itself. */
export interface SelfReport {
  registration(): Promise<Registration>;
  heartbeat(): Promise<WorkerHeartbeat>;
  /** A lane as the hub should see it. */
  laneAsTold(lane: Lane): Lane;
  /** Lanes that differ from the last report, by a registration or by this call. */
  changedLanes(): Lane[];
  /** From now on free lanes are shown as gone, with `reason`, so that the hub offers them to nobody. */
  drain(reason: string): void;
}

const updateOf = (update: UpdateReport | null) => (update === null ? {} : { update });

export function createSelfReport(deps: SelfReportDeps): SelfReport {
  let draining: string | null = null;
  let told = new Map<number, string>();

  const laneAsTold = (lane: Lane): Lane =>
    draining !== null && lane.state === "warm"
      ? { ...lane, state: "dead", reason: draining }
      : lane;
  const lanes = () => deps.pool.lanes().map(laneAsTold);
  const remember = (now: Lane[]) => {
    told = new Map(now.map((lane) => [lane.lane_idx, JSON.stringify(lane)]));
    return now;
  };

  return {
    registration: async () => ({
      type: "registration",
      worker_id: deps.worker_id,
      instance_id: deps.instance_id,
      version: deps.version,
      ...(deps.secret === null ? {} : { secret: deps.secret }),
      address: deps.address,
      hostname: deps.hostname.slice(0, 253),
      host_id: deps.host_id,
      capabilities: {
        max_concurrent: deps.max_concurrent,
        lane_novnc_urls: deps.lane_novnc_urls,
        novnc_url: null,
        browser: deps.pool.product,
        capture: deps.pool.capture,
        egress: deps.egress,
        replay: true,
        replay_clock: true,
        prove_in_replay: true,
        trace: true,
        viewer_events: true,
        run_events: true,
        session_bodies: true,
        one_shot: true,
        webdriver: deps.hasChromedriver(),
        browser_options: BROWSER_OPTION_NAMES.filter(
          (name) => name !== "certificate_authorities" || deps.hasCertutil(),
        ),
      },
      load: await deps.load.sample(),
      lanes: remember(lanes()),
      profiles: deps.profiles(),
      waits_for_order: true,
      ...updateOf(deps.update()),
    }),
    heartbeat: async () => ({
      type: "WorkerHeartbeat",
      load: await deps.load.sample(),
      in_flight: deps.in_flight(),
      lanes: lanes(),
      profiles: deps.profiles(),
      ...updateOf(deps.update()),
    }),
    laneAsTold,
    changedLanes: () => {
      const before = told;
      return remember(lanes()).filter((lane) => before.get(lane.lane_idx) !== JSON.stringify(lane));
    },
    drain: (reason) => {
      draining = reason;
    },
  };
}
