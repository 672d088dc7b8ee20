import { describe, expect, test } from "bun:test";
import {
  type Circumstances,
  decide,
  orderOf,
  type SeenWorker,
} from "#hub/platform/rollout/decide.ts";
import { FIRST_STATE, type RolloutState, turnKey } from "#hub/platform/rollout/state.ts";
import { viewUpdates } from "#hub/platform/rollout/view.ts";

const OLD = "aaaaaaaaaaaa";
const NEW = "bbbbbbbbbbbb";
const DEADLINE_MS = 300_000;
const LOOK_MS = 2_000;

const worker = (worker_id: string, more: Partial<SeenWorker> = {}): SeenWorker => ({
  kind: "browser",
  worker_id,
  version: OLD,
  active: true,
  in_flight: 0,
  unwell: null,
  report: null,
  waits_for_order: true,
  since: 0,
  ...more,
});

/** A fleet that is looked at; tests change its workers and let time pass. */
function fleet(workers: SeenWorker[], more: Partial<Circumstances> = {}) {
  const seen: Circumstances = {
    now: 1_000_000,
    hub_versions: [NEW],
    workers,
    kinds: ["browser", "pull"],
    proofs: new Map(),
    watching_since: 0,
    parallel: 1,
    approval: "auto",
    deadline_ms: DEADLINE_MS,
    ...more,
  };
  const rig = {
    seen,
    state: FIRST_STATE as RolloutState,
    news: [] as string[],
    look: (ms = LOOK_MS) => {
      seen.now += ms;
      const { state, news } = decide(rig.state, seen);
      rig.state = state;
      rig.news.push(...news.map(({ message }) => message));
      return rig;
    },
    of: (worker_id: string) => seen.workers.find((one) => one.worker_id === worker_id),
    /** It is away for its restart. */
    leave: (worker_id: string) => {
      seen.workers = seen.workers.filter((one) => one.worker_id !== worker_id);
    },
    back: (worker_id: string, change: Partial<SeenWorker> = {}) => {
      rig.leave(worker_id);
      seen.workers = [...seen.workers, worker(worker_id, { version: NEW, ...change })];
    },
    prove: (worker_id: string, ok = true, kind: SeenWorker["kind"] = "browser") => {
      seen.proofs = new Map([
        [turnKey({ kind, worker_id }), { ok, how: ok ? "job 1" : "it failed" }],
      ]);
    },
    turn: (worker_id: string, kind: SeenWorker["kind"] = "browser") =>
      rig.state.turns[turnKey({ kind, worker_id })],
    ordered: () =>
      Object.values(rig.state.turns)
        .filter(({ state }) => state === "ordered")
        .map(({ worker_id }) => worker_id),
    view: () =>
      viewUpdates(
        { state: rig.state, workers: seen.workers, hub_versions: seen.hub_versions },
        { parallel: seen.parallel, approval: seen.approval, deadline_ms: seen.deadline_ms },
      ),
  };
  return rig;
}

const three = () => [worker("w1"), worker("w2", { in_flight: 1 }), worker("w3")];

describe("one worker after the other, a canary first", () => {
  test("the others go on only when the canary is back, well, and has done a job", () => {
    const rig = fleet(three()).look();
    expect(rig.ordered()).toEqual(["w1"]);
    expect(rig.turn("w1")).toMatchObject({ canary: true, from: OLD, target: NEW });
    rig.leave("w1");
    rig.look();
    expect(rig.ordered()).toEqual(["w1"]);
    rig.back("w1", { unwell: "none of its lanes is ready" });
    rig.look().look();
    expect(rig.turn("w1")?.state).toBe("proving");
    rig.back("w1");
    rig.look().look();
    expect(rig.ordered()).toEqual([]);
    expect(rig.view()).toMatchObject({ state: "canary", target: NEW });
    rig.prove("w1");
    rig.look();
    expect(rig.turn("w1")?.state).toBe("done");
    expect(rig.ordered()).toEqual(["w3"]);
    rig.back("w3");
    rig.look().look();
    expect(rig.ordered()).toEqual(["w2"]);
    rig.back("w2");
    rig.look().look();
    expect(rig.view()).toMatchObject({ state: "up_to_date", workers: [] });
  });

  test("SVC_UPDATE_PARALLEL lets several go, but the canary goes alone", () => {
    const rig = fleet([...three(), worker("w4")], { parallel: 2 }).look();
    expect(rig.ordered()).toEqual(["w1"]);
    rig.back("w1");
    rig.prove("w1");
    rig.look().look();
    expect(rig.ordered()).toEqual(["w3", "w4"]);
  });

  test("each kind of worker has a canary of its own, and they share the places", () => {
    const rig = fleet([
      worker("w1"),
      worker("p1", { kind: "pull" }),
      worker("p2", { kind: "pull" }),
    ]);
    rig.look();
    expect(rig.ordered()).toEqual(["w1"]);
    rig.back("w1");
    rig.prove("w1");
    rig.look().look();
    expect(rig.turn("p1", "pull")).toMatchObject({ canary: true, state: "ordered" });
    rig.back("p1", { kind: "pull" });
    rig.look().look();
    expect(rig.ordered()).toEqual([]);
    rig.prove("p1", true, "pull");
    rig.look().look();
    expect(rig.ordered()).toEqual(["p2"]);
  });

  test("a worker that drains by its operator's word is no canary while another may be", () => {
    const rig = fleet([worker("w1", { active: false }), worker("w2")]).look();
    expect(rig.ordered()).toEqual(["w2"]);
  });

  test("two hubs that decide the same look decide the same", () => {
    const seen = fleet(three()).seen;
    expect(decide(FIRST_STATE, seen)).toEqual(decide(FIRST_STATE, structuredClone(seen)));
  });
});

describe("a failure stops the roll-out of the version", () => {
  const cases: [string, (rig: ReturnType<typeof fleet>) => void, string][] = [
    [
      "it was rolled back",
      (rig) => {
        rig.back("w1", {
          version: OLD,
          report: { target: NEW, state: "failed", error: "it crashed", rolled_back: true },
        });
        rig.look();
      },
      "it crashed",
    ],
    [
      "a worker of an earlier version says so in words",
      (rig) => {
        const error = `version ${NEW} failed here: it ended with exit code 9`;
        rig.back("w1", { version: OLD, report: { target: NEW, state: "failed", error } });
        rig.look();
      },
      "exit code 9",
    ],
    [
      "it does not come back",
      (rig) => {
        rig.leave("w1");
        rig.look().look(DEADLINE_MS + 1);
      },
      "did not come back within 300 s",
    ],
    [
      "its browser does not start",
      (rig) => {
        rig.back("w1", { unwell: "lane 0 is dead: no browser" });
        rig.look().look(DEADLINE_MS + 1);
      },
      "lane 0 is dead: no browser",
    ],
    [
      "it does no job",
      (rig) => {
        rig.back("w1");
        rig.look().look(DEADLINE_MS + 1);
      },
      "has done no job",
    ],
    [
      "its jobs fail",
      (rig) => {
        rig.back("w1");
        rig.prove("w1", false);
        rig.look();
      },
      "it failed",
    ],
    [
      "it goes back from the new version",
      (rig) => {
        rig.back("w1");
        rig.look();
        rig.back("w1", { version: OLD });
        rig.look();
      },
      "has gone back to",
    ],
    [
      "its download fails for a minute and a half",
      (rig) => {
        const report = { target: NEW, state: "failed" as const, error: "no room" };
        rig.back("w1", { version: OLD, report });
        rig.look();
        expect(rig.state.failure).toBeNull();
        rig.look(90_001);
      },
      "no room",
    ],
  ];
  for (const [name, happens, error] of cases)
    test(`when ${name}`, () => {
      const rig = fleet(three()).look();
      happens(rig);
      expect(rig.state.failure).toMatchObject({ worker_id: "w1", version: NEW });
      expect(rig.state.failure?.error).toContain(error);
      rig.look(DEADLINE_MS).look();
      expect(rig.ordered()).toEqual([]);
      expect(rig.view()).toMatchObject({ state: "stopped" });
      expect(rig.view().detail).toContain(error);
      const failed = rig.view().workers.find(({ worker_id }) => worker_id === "w1");
      expect(failed?.update.state).toBe("failed");
      expect(failed?.update.since).not.toBeNull();
      const now = rig.of("w1");
      const back = now?.version === NEW;
      if (now) expect(orderOf(rig.state, now)).toEqual({ target: back ? OLD : NEW, go: back });
      // A hub with another version begins anew.
      rig.seen.hub_versions = ["cccccccccccc"];
      rig.look();
      expect(rig.state.failure).toBeNull();
      expect(rig.ordered()).toHaveLength(1);
    });

  test("a worker that comes back late says what happened to it", () => {
    const rig = fleet(three()).look();
    rig.leave("w1");
    rig.look().look(DEADLINE_MS + 1);
    expect(rig.state.failure?.error).toContain("did not come back");
    const report = {
      target: NEW,
      state: "failed" as const,
      error: "it crashed",
      rolled_back: true,
    };
    rig.back("w1", { version: OLD, report });
    rig.look();
    expect(rig.state.failure?.error).toBe("it crashed");
    expect(rig.turn("w1")).toMatchObject({ error: "it crashed", rolled_back: true });
  });

  test("a job that takes longer than the deadline fails no canary", () => {
    const rig = fleet(three()).look();
    rig.back("w1", { in_flight: 1 });
    rig.look().look(10 * DEADLINE_MS);
    expect(rig.state.failure).toBeNull();
    expect(rig.turn("w1")?.state).toBe("proving");
  });

  test("a worker that drains long jobs and sessions has the time they take", () => {
    const rig = fleet(three()).look();
    rig.back("w1", {
      version: OLD,
      report: { target: NEW, state: "draining", error: null },
    });
    rig.look(10 * DEADLINE_MS).look();
    expect(rig.ordered()).toEqual(["w1"]);
    expect(rig.state.failure).toBeNull();
  });

  test("a hub that was away itself does not count that time against the worker", () => {
    const rig = fleet(three()).look();
    rig.leave("w1");
    rig.look();
    rig.seen.watching_since = rig.seen.now + 10 * DEADLINE_MS;
    rig.look(10 * DEADLINE_MS);
    expect(rig.state.failure).toBeNull();
  });

  test("one that does not update by its settings is left out, and stops nobody", () => {
    const off = { target: NEW, state: "failed" as const, error: "X is 0", off: true };
    const rig = fleet([worker("w1"), worker("w2")]).look();
    rig.back("w1", { version: OLD, report: off });
    rig.look().look();
    expect(rig.turn("w1")?.state).toBe("off");
    expect(rig.ordered()).toEqual(["w2"]);
    expect(rig.state.failure).toBeNull();
  });
});

describe("hubs that are upgraded one after the other", () => {
  test("move nobody before all have one version, and no worker goes back and forth", () => {
    const rig = fleet(three(), { hub_versions: [OLD, OLD, OLD] }).look();
    for (const hub_versions of [
      [NEW, OLD, OLD],
      [NEW, OLD],
      [NEW, NEW, OLD],
    ]) {
      rig.seen.hub_versions = hub_versions;
      rig.look();
      expect(rig.ordered()).toEqual([]);
      expect(rig.state.target).toBe(OLD);
    }
    expect(rig.view().state).toBe("waiting_for_hubs");
    rig.seen.hub_versions = [NEW, NEW, NEW];
    rig.look();
    expect(rig.ordered()).toEqual(["w1"]);
  });

  test("a worker on its way keeps its turn while they change again", () => {
    const rig = fleet(three()).look();
    rig.leave("w1");
    rig.seen.hub_versions = ["cccccccccccc"];
    rig.look();
    expect(rig.ordered()).toEqual(["w1"]);
    expect(Object.keys(rig.state.turns)).toEqual(["browser/w1"]);
    rig.back("w1");
    rig.look();
    expect(rig.turn("w1")?.target).not.toBe(NEW);
  });
});

describe("an operator's word", () => {
  test("pause sends nobody else; who is on the way gets there", () => {
    const rig = fleet(three()).look();
    rig.state.paused_since = 1;
    rig.back("w1");
    rig.prove("w1");
    rig.look().look();
    expect(rig.turn("w1")?.state).toBe("done");
    expect(rig.ordered()).toEqual([]);
    expect(rig.view().state).toBe("paused");
    rig.state.paused_since = null;
    rig.look();
    expect(rig.ordered()).toEqual(["w3"]);
  });

  test("SVC_UPDATE_APPROVAL=manual waits after the canary, for this version alone", () => {
    const rig = fleet(three(), { approval: "manual" }).look();
    rig.back("w1");
    rig.prove("w1");
    rig.look().look();
    expect(rig.ordered()).toEqual([]);
    expect(rig.view()).toMatchObject({ state: "waiting_for_approval" });
    rig.state.approved = NEW;
    rig.look();
    expect(rig.ordered()).toEqual(["w3"]);
    rig.seen.hub_versions = ["cccccccccccc"];
    rig.look();
    expect(rig.state.approved).toBeNull();
  });

  test("a pin holds the fleet at a version whatever the hub's is, and one of a worker only this", () => {
    const rig = fleet(three());
    rig.state = { ...FIRST_STATE, pin: OLD };
    rig.look();
    expect(rig.ordered()).toEqual([]);
    rig.state.worker_pins = { w2: NEW };
    rig.look();
    expect(rig.turn("w2")).toMatchObject({ target: NEW, canary: false });
    rig.state.pin = null;
    rig.back("w2");
    rig.look().look();
    expect(rig.turn("w1")).toMatchObject({ target: NEW, canary: true });
  });
});
