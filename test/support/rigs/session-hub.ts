import { expect } from "bun:test";
import type { FakeBridge } from "../fakes/fake-bridge.ts";
import type { FakeWorker, FakeWorkerOptions } from "../fakes/fake-worker.ts";
import { startTestHub, type TestHub } from "./hub.ts";
import type { TestHubOptions } from "./hub-options.ts";

/** A worker of this hub that answers the calls of sessions without a browser; `bridge` is where its lanes are shown. */
export const sessionWorkerOf = (
  hub: TestHub,
  { lane_novnc_urls }: FakeBridge,
  options: FakeWorkerOptions = {},
): Promise<FakeWorker> =>
  hub.worker({
    address: "127.0.0.1",
    ...options,
    capabilities: {
      lane_novnc_urls,
      max_concurrent: options.lanes ?? 1,
      ...options.capabilities,
    } as never,
  });

/** A hub and one such worker. */
export async function startSessionHub(
  bridge: FakeBridge,
  worker: FakeWorkerOptions = {},
  options: TestHubOptions = {},
): Promise<{ hub: TestHub; worker: FakeWorker }> {
  const hub = await startTestHub(options);
  return { hub, worker: await sessionWorkerOf(hub, bridge, worker) };
}

/** The record of a new session. */
export async function openSessionOf(hub: TestHub, body: object = {}) {
  const answer = await hub.call("POST", "/sessions", body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
}
