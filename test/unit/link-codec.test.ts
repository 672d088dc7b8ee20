import { describe, expect, test } from "bun:test";
import { decoderOf } from "#shared/protocol/link/codec.ts";
import { HubToWorker, RunExtras, WorkerToHub } from "#shared/protocol/link/messages.ts";

describe("link frames (rules/worker-link#unknown-and-broken-frames)", () => {
  const decode = decoderOf<HubToWorker>(HubToWorker);

  test("a message of every known type is decoded", () => {
    const job = { job_id: "j1", lease_token: 3 };
    const opened = { session_id: "s", lease_token: 3 };
    const messages: HubToWorker[] = [
      {
        type: "HubRegistered",
        expected_worker_version: "v",
        upload_token: "t",
        public_base_url: null,
        heartbeat_interval_ms: 15_000,
      },
      {
        type: "HubAssignJob",
        ...job,
        lane_idx: 0,
        session_id: "s",
        url: "http://site.test/",
        options: {},
        extras: RunExtras.parse({}),
      },
      { type: "HubCancelJob", ...job, reason: "" },
      { type: "HubEndRun", ...job, status: "completed", error: null, stage: null },
      { type: "HubResultAck", ...job, accepted: true },
      { type: "HubHeartbeatAck" },
      {
        type: "HubOpenSession",
        ...opened,
        lane_idx: 0,
        url: "http://site.test/",
        headless: true,
        viewport: { width: 800, height: 600 },
        profile: null,
        dialog_policy: "accept",
        egress: { mode: "public", allow: [], deny: ["*:25"] },
        proxy: { server: "http://p.test:3128", username: "u", password: "p", bypass: null },
        proxy_of: "host",
      },
      { type: "HubCloseSession", ...opened, reason: "deleted" },
      {
        type: "HubSessionCall",
        call_id: "c",
        session_id: "s",
        action: "evaluate",
        args: { code: "1" },
        timeout_ms: 1_000,
      },
      {
        type: "HubRunEvents",
        session_id: "s1",
        events: [
          { type: "stage", stage: "plan", text: "asking for a script" },
          { type: "step", of: "script", text: "attempt 1", reason: "why", outcome: "failed" },
        ],
      },
      {
        type: "HubViewerEvents",
        session_id: "s",
        events: [
          { type: "viewer", state: "took_over", by: "desk", from: "10.0.0.7", mode: "control" },
          { type: "input", kind: "pointer", count: 2, ms: 700, x: 10, y: 20, by: "desk" },
        ],
      },
    ];
    for (const message of messages)
      expect(decode(JSON.stringify(message))).toEqual({ kind: "message", message });
    expect(messages.length).toBe(HubToWorker.options.length);
  });

  test("a type of a newer version is unknown, not bad", () => {
    expect(decode('{"type":"HubNews"}')).toEqual({ kind: "unknown", type: "HubNews" });
    expect(decode('{"type":"__proto__"}')).toEqual({ kind: "unknown", type: "__proto__" });
  });

  test("a field of a newer version is dropped", () => {
    expect(decode('{"type":"HubHeartbeatAck","new_field":1}')).toEqual({
      kind: "message",
      message: { type: "HubHeartbeatAck" },
    });
  });

  for (const [frame, reason] of [
    ["", "not JSON"],
    ["null", "no type"],
    ["[]", "no type"],
    ['{"type":7}', "no type"],
    [
      '{"type":"HubResultAck","job_id":"j1","lease_token":1.5,"accepted":true}',
      "HubResultAck.lease_token: ",
    ],
  ] as const)
    test(`${frame || "an empty frame"} is bad: ${reason}`, () => {
      const decoded = decode(frame);
      expect(decoded.kind === "bad" && decoded.reason).toStartWith(reason);
    });

  test("a result above its limits is bad for the hub", () => {
    const result = {
      type: "result",
      job_id: "j1",
      lease_token: 1,
      status: "completed",
      error: null,
      stage: null,
      http_status: 200,
      final_url: null,
      title: "t".repeat(4_097),
      capture: null,
    };
    expect(decoderOf<WorkerToHub>(WorkerToHub)(JSON.stringify(result)).kind).toBe("bad");
  });
});
