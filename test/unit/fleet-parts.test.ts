import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { sshArgv } from "#hub/pipeline/agents/ssh.ts";
import { silentWorkers } from "#hub/pipeline/agents/watchdog.ts";
import { loadHubConfig } from "#hub/platform/config.ts";
import type { PullWorkerRow } from "#hub/platform/db/rows.ts";
import { quoteWord } from "#hub/platform/quote-word.ts";
import { systemClock } from "#shared/kit/clock.ts";
import { silentLog } from "#shared/kit/log.ts";
import { newInstanceId, WORKER_ID } from "#shared/protocol/ids.ts";
import { loadWorkerConfig } from "#worker/config.ts";
import { startAgentService } from "#worker/program/start-agent.ts";

describe("the command line of a restart (rules/pipeline-agents#restart-a-worker-over-ssh)", () => {
  test("whatever a word holds, a shell reads it back as that one word", () => {
    const word = fc.string({ unit: "binary", maxLength: 20 }).map((s) => s.replaceAll("\0", ""));
    const words = fc.sample(fc.array(word, { minLength: 1, maxLength: 5 }), 40);
    for (const list of words) {
      const line = list.map(quoteWord).join(" ");
      const { stdout } = Bun.spawnSync([
        "sh",
        "-c",
        `for w in ${line}; do printf '%s\\0' "$w"; done`,
      ]);
      const expected = list.map(
        (w) => `${new TextDecoder().decode(new TextEncoder().encode(w))}\0`,
      );
      expect(stdout.toString()).toBe(expected.join(""));
    }
  });

  test("ids are filled into every word; without a user ssh takes its own", () => {
    const settings = { command: ["{worker_id}", "a-{host}-{worker_id}"], user: null, options: [] };
    expect(sshArgv(settings, { host: "h1", worker_id: "w1" })).toEqual([
      ...["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"],
      ...["--", "h1", "w1", "a-h1-w1"],
    ]);
  });

  test("bad variables are refused by name", () => {
    for (const [name, value] of [
      ["SVC_SSH_HOSTS", "ok,-oProxyCommand=x"],
      ["SVC_SSH_USER", "-l root"],
      ["SVC_RESTART_ARGV", "[not json"],
      ["SVC_WATCHDOG_MAX_PER_HOUR", "0"],
    ] as const)
      expect(() => loadHubConfig({ [name]: value })).toThrow(name);
  });
});

test("the watchdog looks at workers that are silent, but not forever, and say nothing of draining (rules/pipeline-agents#watchdog)", () => {
  const NOW = 100_000_000;
  const worker = (worker_id: string, silent_for: number, draining = false) =>
    ({ worker_id, draining, last_heartbeat_at: NOW - silent_for }) as PullWorkerRow;
  const workers = [
    worker("speaks", 1_000),
    worker("silent", 1_001),
    worker("drains", 5_000, true),
    worker("kept", 5_000),
    worker("gone", 24 * 3_600_000),
  ];
  const wall_jumps = { ageOf: (wall: number) => NOW - wall };
  const input = { workers, kept: new Set(["kept"]), silent_ms: 1_000, wall_jumps };
  expect(silentWorkers(input).map((w) => w.worker_id)).toEqual(["silent"]);
});

test("the name of an instance is a worker id, whatever its host is called (rules/pipeline-agents#what-an-agent-does)", () => {
  for (const host of ["gpu-1", "a.b.example.org", "10.0.0.1:22", "x".repeat(253)])
    expect(newInstanceId(host)).toMatch(WORKER_ID);
  expect(newInstanceId("gpu-1")).not.toBe(newInstanceId("gpu-1"));
});

describe("--agent (rules/pipeline-agents#host-agents)", () => {
  test("instances see what configures a worker and nothing else of the agent's environment", () => {
    const { agent } = loadWorkerConfig(
      {
        PATH: "/bin",
        HOME: "/home/x",
        DATABASE_PASSWORD: "hush",
        MY_KEY: "k",
        WORKER_SECRET: "s",
        SVC_TASK_ENV: "MY_KEY",
        SVC_DRAIN_TIMEOUT_S: "9",
        SVC_MODE: "worker",
        HUB_URL: "ws://hub:8000",
        SVC_AGENT: "1",
        SVC_DATA_DIR: "/d",
        SVC_WORKER_ID: "w1",
      },
      { SVC_SLOTS: "7", SVC_CONTROL_URL: "http://c:8000" },
    );
    expect(agent).toMatchObject({ enabled: true });
    expect(agent.environment).toEqual({
      PATH: "/bin",
      HOME: "/home/x",
      MY_KEY: "k",
      WORKER_SECRET: "s",
      SVC_SLOTS: "7",
      SVC_TASK_ENV: "MY_KEY",
      SVC_DRAIN_TIMEOUT_S: "9",
      SVC_CONTROL_URL: "http://c:8000",
    });
  });

  test("without a control plane it does not start", async () => {
    const config = loadWorkerConfig({ SVC_AGENT: "1" }, {});
    const deps = { config, log: silentLog, clock: systemClock, version: "1", self: ["flotilla"] };
    await expect(startAgentService(deps)).rejects.toThrow(
      "SVC_AGENT (--agent): needs SVC_CONTROL_URL (--control-url)",
    );
  });
});
