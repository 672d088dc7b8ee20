import { expect } from "bun:test";
import type { FakeBridge } from "../fakes/fake-bridge.ts";
import type { FakeWorker, FakeWorkerOptions } from "../fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "./hub.ts";
import type { TestHubOptions } from "./hub-options.ts";

/** A hub and one worker that answers the calls of sessions without a browser; `bridge` is where its lanes are shown. */
export async function startSessionHub(
  { lane_novnc_urls }: FakeBridge,
  worker: FakeWorkerOptions = {},
  options: TestHubOptions = {},
): Promise<{ hub: TestHub; worker: FakeWorker }> {
  const hub = await startTestHub(options);
  const lanes = worker.lanes ?? 1;
  return {
    hub,
    worker: await hub.worker({
      address: "127.0.0.1",
      capabilities: { lane_novnc_urls, max_concurrent: lanes } as never,
      ...worker,
    }),
  };
}

/** The record of a new session. */
export async function openSessionOf(hub: TestHub, body: object = {}) {
  const answer = await hub.call("POST", "/sessions", body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
}
